import { ApiError, BadAnswerError, ConnectionError } from './errors.ts';

const FIRST_MS = 200;
const LONGEST_MS = 10_000;
const EARLY_MS = 500;
const EARLY_MS_MAX = 2_000;
/** Those who were told the same time do not all come at once. */
const SPREAD_MS = 250;

/** How long before the try after this one (1 = the first): any time up to a bound that doubles; or what the server asked. */
export function backoffMs(attempt: number, askedMs?: number): number {
  if (askedMs !== undefined) return askedMs + Math.random() * SPREAD_MS;
  return Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 16));
}

/** How long before asking again a node that would not wait (the first time: 1), as one that is about to leave: from half a second on. */
export function earlyAnswerMs(time: number): number {
  return Math.min(EARLY_MS_MAX, EARLY_MS * 2 ** Math.min(time - 1, 16)) * (1 + Math.random() / 2);
}

/** Nobody there, overload, or a proxy before a node that is gone: worth another try, where trying twice does no harm. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.retryable && (error.status === 429 || error.status === 503);
  if (error instanceof BadAnswerError) return error.status >= 502 && error.status <= 504;
  return error instanceof ConnectionError;
}

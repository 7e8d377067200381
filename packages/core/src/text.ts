import { AppError } from './errors.ts';

/** U+FFFD, which stands for what could not be kept. */
const REPLACEMENT = '\uFFFD';
const DEPTH_MAX = 100;

/** How many characters were replaced, by kind. */
export interface TextRepairs {
  nul: number;
  loneSurrogate: number;
}

/**
 * Replaces what Postgres or UTF-8 cannot hold, NUL and lone surrogates, and adds to the counts. Text without them, the
 * usual case, comes back as it is after two native scans.
 */
export function cleanText(text: string, repairs: TextRepairs): string {
  if (text.isWellFormed() && !text.includes('\u0000')) return text;
  repairs.nul += text.split('\u0000').length - 1;
  repairs.loneSurrogate += text.match(/\p{Surrogate}/gu)?.length ?? 0;
  return text.replaceAll('\u0000', REPLACEMENT).toWellFormed();
}

/** `http://user:password@host`. */
export function hasUserInfo(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && (url.username !== '' || url.password !== '');
}

/** True for what may stand as the value of an HTTP header: visible ASCII, spaces only between. */
export function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
}

/**
 * `cleanText` for every text of a parsed JSON value, names of fields included; the same value when nothing is wrong.
 * @throws AppError `invalid_field` for a value nested deeper than 100 levels, which neither we nor the store would write
 */
export function cleanJson(value: unknown, repairs: TextRepairs, depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value, repairs);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) {
    throw new AppError({ code: 'invalid_field', message: `JSON is nested at most ${DEPTH_MAX} levels deep` });
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanJson(item, repairs, depth + 1));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  const entries = Object.entries(value);
  const cleaned = entries.map(
    ([name, field]) => [cleanText(name, repairs), cleanJson(field, repairs, depth + 1)] as const,
  );
  const isSame = cleaned.every(([name, field], i) => name === entries[i]?.[0] && field === entries[i]?.[1]);
  return isSame ? value : Object.fromEntries(cleaned);
}

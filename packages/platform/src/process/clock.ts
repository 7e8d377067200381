import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Ids } from '@turnkeeper/core';

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => (signal === undefined ? wait(ms) : sleepUnless(signal, ms)),
};

/**
 * Ends at once when the signal aborts. Node's own timer with a signal does the same with three more closures and a promise,
 * which is much when a worker has twenty thousand turns at work.
 */
function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** Milliseconds in the first 12 digits, as UUIDv7 has them. */
const TIME_DIGITS = 12;
/** In a random UUID everything from here on is random but for the variant, which v7 has alike. */
const RANDOM_PART = 15;

/**
 * Ids from the operating system's randomness; jitter needs no more than the engine's. `randomUUID` asks for randomness
 * in large pieces, which costs a tenth of asking for each id.
 */
export const systemIds: Ids = {
  next: () => {
    const time = Date.now().toString(16).padStart(TIME_DIGITS, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(RANDOM_PART)}`;
  },
  random: () => Math.random(),
};

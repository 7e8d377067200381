import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Ids } from '@turnkeeper/core';

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await wait(ms, undefined, signal ? { signal } : {});
    } catch (err) {
      // the contract: an abort ends the sleep, it does not fail it
      if (!signal?.aborted) throw err;
    }
  },
};

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

import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, type Ids, uuidV7 } from '@turnkeeper/core';

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

const RANDOM_BYTES = 10;

/** Ids from the operating system's randomness; jitter needs no more than the engine's. */
export const systemIds: Ids = {
  next: () => uuidV7(Date.now(), randomBytes(RANDOM_BYTES)),
  random: () => Math.random(),
};

import type { Ids } from '../clock.ts';
import { uuidV7 } from '../ids.ts';

/** Ids and randomness that repeat from a seed (mulberry32). */
export class SeededIds implements Ids {
  #state: number;
  #count = 0;

  constructor(seed = 1) {
    this.#state = seed;
  }

  next(): string {
    return uuidV7(
      this.#count++,
      Uint8Array.from({ length: 10 }, () => this.random() * 256),
    );
  }

  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

import type { Clock, Ids } from '@turnkeeper/core';

const FIRST_MS = 200;
const LONGEST_MS = 10_000;
/** Who has lived this long starts over with the shortest wait. */
const HEALTHY_MS = 30_000;

/** How long to wait before something that died is started again: longer each time, unless it had lived for a while. */
export class Backoff {
  readonly #clock: Clock;
  readonly #ids: Ids;
  #tries = 0;
  #startedMs = 0;

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Call when it runs. */
  started(): void {
    this.#startedMs = this.#clock.monotonicMs();
  }

  /** Milliseconds to wait now. */
  nextMs(): number {
    if (this.#startedMs > 0 && this.#clock.monotonicMs() - this.#startedMs > HEALTHY_MS) this.#tries = 0;
    const fullMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#tries);
    this.#tries += 1;
    return fullMs / 2 + (this.#ids.random() * fullMs) / 2;
  }
}

import type { Clock } from '../clock.ts';
import { StoreError } from '../errors.ts';

export interface MissGateOptions {
  readonly clock: Clock;
  /** Reads under way at once. */
  readonly runningMax: number;
  /** Reads that wait; one more is refused. */
  readonly waitingMax: number;
  /** A read that has waited longer than this when its turn comes is refused, milliseconds. */
  readonly waitMs: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly go: () => void;
  readonly refuse: (error: StoreError) => void;
}

/** Lets a few reads of a store run at once; others wait in the order in which they came. */
export class MissGate {
  readonly #options: MissGateOptions;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(options: MissGateOptions) {
    this.#options = options;
  }

  /** @throws StoreError `busy` when too many wait, or it waited too long; what the read throws */
  async pass<T>(read: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.runningMax) this.#running++;
    else await this.#turn();
    try {
      return await read();
    } finally {
      this.#handOver();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#options.waitingMax) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ sinceMs: this.#options.clock.monotonicMs(), go: resolve, refuse: reject });
    return promise;
  }

  #handOver(): void {
    const sinceMsMin = this.#options.clock.monotonicMs() - this.#options.waitMs;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next.sinceMs >= sinceMsMin) {
        next.go();
        return;
      }
      next.refuse(tooMany());
    }
    this.#running--;
  }
}

function tooMany(): StoreError {
  const message = 'too much is looked up at once that is not known here; try again';
  return new StoreError({ failure: 'busy', state: 'too_many_misses', message });
}

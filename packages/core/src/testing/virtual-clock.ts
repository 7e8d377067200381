import type { Clock } from '../clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class VirtualClock implements Clock {
  #sleepers: Sleeper[] = [];
  #elapsedMs = 0;
  readonly #startMs: number;

  constructor(startMs = 1_790_000_000_000) {
    this.#startMs = startMs;
  }

  nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = { dueMs: this.#elapsedMs + ms, wake: resolve };
    this.#sleepers.push(sleeper);
    signal?.addEventListener('abort', () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
      resolve();
    });
    return promise;
  }

  /** How many sleep now: zero when an idle thing holds no timer. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Moves time on, waking what is due in order of its time; each sleeper sees the moment that it asked for. */
  async advance(ms: number): Promise<void> {
    await settled();
    const endMs = this.#elapsedMs + ms;
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await settled();
    }
    this.#elapsedMs = endMs;
    await settled();
  }

  #nextDue(endMs: number): Sleeper | undefined {
    return this.#sleepers.filter((sleeper) => sleeper.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}

/** Lets everything that waits for promises alone run on: many turns of the microtask queue. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 100; i++) await Promise.resolve();
}

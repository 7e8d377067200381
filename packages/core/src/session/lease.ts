import type { Clock } from '../clock.ts';

/**
 * What this process may conclude, by its own clock, from its heartbeats: nobody declares it dead before `leaseMs` have
 * passed since the database took the last one, and the database took it after it was sent.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #safeMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, limits: { readonly leaseMs: number; readonly marginMs: number }) {
    this.#clock = clock;
    this.#safeMs = limits.leaseMs - limits.marginMs;
  }

  /** A heartbeat that was sent at this monotonic moment was answered: I live. */
  renewed(sentMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, sentMs);
  }

  /** True while an effect outside Postgres may begin (protocol: act, deliver). */
  get isSafe(): boolean {
    return this.#clock.monotonicMs() - this.#lastMs < this.#safeMs;
  }

  /** Resolves when an effect may begin; false when the signal aborts before that. */
  async untilSafe(signal: AbortSignal): Promise<boolean> {
    while (!this.isSafe && !signal.aborted) await this.#clock.sleep(50, signal);
    return !signal.aborted;
  }
}

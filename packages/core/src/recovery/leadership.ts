import type { Clock } from '../clock.ts';

/**
 * What a coordinator may conclude from its tries to take or renew the leader's lease:
 *
 *   standby ──(the database gave or renewed the lease)──► leading, a term begins
 *   leading ──(it was refused | it ran out by the local clock)──► standby, the term's signal aborts
 *
 * By the local clock it runs out `marginMs` before the database could give it to another, counted from before the
 * question was sent. Everything a leader does is safe with two of them at once; ending a term early only keeps the
 * work from being done twice.
 */
export class Leadership {
  readonly #clock: Clock;
  readonly #safeMs: number;
  #term: AbortController | null = null;
  #safeUntilMs = 0;

  constructor(clock: Clock, limits: { readonly leaseMs: number; readonly marginMs: number }) {
    this.#clock = clock;
    this.#safeMs = limits.leaseMs - limits.marginMs;
  }

  /** The database answered the question that was sent at this monotonic moment. */
  answered(isHeld: boolean, sentMs: number): void {
    if (isHeld) this.#safeUntilMs = Math.max(this.#safeUntilMs, sentMs + this.#safeMs);
    if (isHeld && !this.#ranOut()) this.#term ??= new AbortController();
    else this.resign();
  }

  /** Ends the term when the lease ran out; call it often, also while a question is unanswered. */
  check(): void {
    if (this.#ranOut()) this.resign();
  }

  /** Ends the term. */
  resign(): void {
    this.#term?.abort();
    this.#term = null;
  }

  /** Aborts when this term ends; null in standby. */
  get term(): AbortSignal | null {
    return this.#term?.signal ?? null;
  }

  #ranOut(): boolean {
    return this.#clock.monotonicMs() >= this.#safeUntilMs;
  }
}

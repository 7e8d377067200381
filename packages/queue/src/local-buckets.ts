import type { Clock, RateLimit, TenantId } from '@turnkeeper/core';

interface Bucket {
  tokens: number;
  countedMs: number;
}

/** What a bucket granted and what is left of it (a fraction of a token counts). */
export interface Granted {
  readonly granted: number;
  readonly left: number;
}

/** Buckets that are kept; those that are full again go first. */
const BUCKETS_MAX = 10_000;

/** Token buckets in this process's memory: what a node grants by itself while Redis is away. */
export class LocalBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<TenantId, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(tenantId: TenantId, limit: RateLimit, wanted: number): Granted {
    const nowMs = this.#clock.monotonicMs();
    const present = this.#buckets.get(tenantId);
    const passedMs = nowMs - (present?.countedMs ?? nowMs);
    const tokens = Math.min(limit.burst, (present?.tokens ?? limit.burst) + (passedMs * limit.perSecond) / 1000);
    const granted = Math.min(wanted, Math.floor(tokens));
    // to the end of the map, which is so kept in order of last use
    this.#buckets.delete(tenantId);
    this.#buckets.set(tenantId, { tokens: tokens - granted, countedMs: nowMs });
    if (this.#buckets.size > BUCKETS_MAX) this.#forgetOldest();
    return { granted, left: tokens - granted };
  }

  /** Of no use any more once Redis answers: its buckets count on. */
  clear(): void {
    this.#buckets.clear();
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

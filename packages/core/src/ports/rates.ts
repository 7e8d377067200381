import type { TenantId } from '../ids.ts';

export interface RateLimit {
  /** Above 0. */
  readonly perSecond: number;
  /** Requests that may come at once; at least 1. */
  readonly burst: number;
}

/** Everything the headers `Retry-After`, `RateLimit` and `RateLimit-Policy` say. */
export interface RateAnswer {
  readonly allowed: boolean;
  /** The burst: what `remaining` counts down from. */
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly resetMs: number;
  /** Until one more request fits; 0 when this one was allowed. */
  readonly retryAfterMs: number;
}

/** One token bucket per tenant, shared by all ingress nodes. */
export interface RateLimits {
  /**
   * Takes one token. Requests of one tick share a round trip. While Redis is away each node grants its share of the
   * limit from its own memory. Never throws; answers within a second.
   */
  take(tenantId: TenantId, limit: RateLimit): Promise<RateAnswer>;
}

import type { Clock, RateAnswer, RateLimit, RateLimits, TenantId } from '@turnkeeper/core';
import { rateKey, rateTag } from './keys.ts';
import { type Granted, LocalBuckets } from './local-buckets.ts';
import type { RedisLink } from './redis-link.ts';
import { Script } from './script.ts';

export interface RateLimitsOptions {
  readonly link: RedisLink;
  readonly clock: Clock;
  /** How many nodes share the limits while Redis is away; at least 1. */
  readonly nodes: () => number;
}

interface Asked {
  readonly limit: RateLimit;
  readonly answers: ((answer: RateAnswer) => void)[];
}

/**
 * Token buckets of tenants in Redis, by its clock. Requests that arrive in one turn of the event loop are taken
 * together: one script (on a cluster one per hash tag), one bucket per tenant, tokens handed out in order of arrival. A bucket at rest is
 * no key. While Redis is away each node grants its share from buckets of its own.
 */
export class RedisRateLimits implements RateLimits, Disposable {
  readonly #options: RateLimitsOptions;
  readonly #script = new Script('take-tokens');
  readonly #local: LocalBuckets;
  readonly #stopWatching: () => void;
  #asked = new Map<TenantId, Asked>();

  constructor(options: RateLimitsOptions) {
    this.#options = options;
    this.#local = new LocalBuckets(options.clock);
    this.#stopWatching = options.link.onChange((away) => {
      if (!away) this.#local.clear();
    });
  }

  take(tenantId: TenantId, limit: RateLimit): Promise<RateAnswer> {
    if (this.#asked.size === 0) setImmediate(() => void this.#flush());
    const { promise, resolve } = Promise.withResolvers<RateAnswer>();
    const asked = this.#asked.get(tenantId);
    if (asked === undefined) this.#asked.set(tenantId, { limit, answers: [resolve] });
    else asked.answers.push(resolve);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#stopWatching();
  }

  async #flush(): Promise<void> {
    const byTag = new Map<string, Map<TenantId, Asked>>();
    for (const [tenantId, asked] of this.#asked) {
      const tag = this.#options.link.isCluster ? rateTag(this.#options.link.keyPrefix, tenantId) : '';
      const group = byTag.get(tag);
      if (group === undefined) byTag.set(tag, new Map([[tenantId, asked]]));
      else group.set(tenantId, asked);
    }
    this.#asked = new Map();
    await Promise.all([...byTag.values()].map((group) => this.#ask(group)));
  }

  async #ask(group: ReadonlyMap<TenantId, Asked>): Promise<void> {
    const keys = [...group.keys()].map((tenantId) => rateKey(this.#options.link.keyPrefix, tenantId));
    const args = [...group.values()].flatMap(({ limit, answers }) => [limit.perSecond, limit.burst, answers.length]);
    const reply = await this.#options.link.run((client) => this.#script.run(client, keys, args));
    let at = 0;
    for (const [tenantId, { limit, answers }] of group) {
      if (Array.isArray(reply)) {
        hand(answers, { granted: Number(reply[at]), left: Number(reply[at + 1]) }, limit);
      } else {
        const share = shareOf(limit, this.#options.nodes());
        hand(answers, this.#local.take(tenantId, share, answers.length), share);
      }
      at += 2;
    }
  }
}

/** A node alone always grants something: a limit below its share of 1 would else be 0. */
function shareOf(limit: RateLimit, nodes: number): RateLimit {
  const parts = Math.max(1, nodes);
  return { perSecond: limit.perSecond / parts, burst: Math.max(1, Math.floor(limit.burst / parts)) };
}

/** Hands the granted tokens to the first that asked. */
function hand(answers: readonly ((answer: RateAnswer) => void)[], { granted, left }: Granted, limit: RateLimit): void {
  const resetMs = Math.ceil(((limit.burst - left) / limit.perSecond) * 1000);
  for (const [i, answer] of answers.entries()) {
    const allowed = i < granted;
    const remaining = Math.max(0, Math.floor(left + granted - 1 - i));
    // the k-th that was refused waits for the k-th next token
    const retryAfterMs = allowed ? 0 : Math.ceil(((i - granted + 1 - left) / limit.perSecond) * 1000);
    answer({ allowed, limit: limit.burst, remaining, resetMs, retryAfterMs });
  }
}

import { AppError, type RateAnswer, type RateLimits, type TenantConfig } from '@turnkeeper/core';
import type { FastifyReply } from 'fastify';

/** The rate of messages that a tenant may send. Tenants without a rate cost nothing here. */
export class RateGate {
  readonly #limits: RateLimits;
  readonly #countRefusal: () => void;

  constructor(limits: RateLimits, countRefusal: () => void) {
    this.#limits = limits;
    this.#countRefusal = countRefusal;
  }

  /** Takes one; the answer carries the headers either way. @throws AppError `rate_limited` */
  async take(tenant: TenantConfig, reply: FastifyReply): Promise<void> {
    const answer = await this.#ask(tenant);
    if (answer === null) return;
    const windowSeconds = Math.max(1, Math.ceil(answer.limit / (tenant.limits.ratePerSecond ?? 1)));
    reply.header('ratelimit-policy', `"tenant";q=${answer.limit};w=${windowSeconds}`);
    const resetSeconds = Math.ceil((answer.allowed ? answer.resetMs : answer.retryAfterMs) / 1000);
    reply.header('ratelimit', `"tenant";r=${answer.remaining};t=${resetSeconds}`);
    if (answer.allowed) return;
    throw new AppError({
      code: 'rate_limited',
      retryable: true,
      retryAfterMs: answer.retryAfterMs,
      message: 'too many requests for the rate of this tenant; wait for Retry-After',
    });
  }

  /** For doors that refuse nobody to their face. */
  async allows(tenant: TenantConfig): Promise<boolean> {
    return (await this.#ask(tenant))?.allowed ?? true;
  }

  async #ask({ tenantId, limits }: TenantConfig): Promise<RateAnswer | null> {
    if (limits.ratePerSecond === null) return null;
    const burst = Math.max(1, limits.burst ?? limits.ratePerSecond);
    const answer = await this.#limits.take(tenantId, { perSecond: limits.ratePerSecond, burst });
    if (!answer.allowed) this.#countRefusal();
    return answer;
  }
}

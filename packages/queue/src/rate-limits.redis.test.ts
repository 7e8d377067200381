import type { RateLimit } from '@turnkeeper/core';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { RedisRateLimits } from './rate-limits.ts';
import { clock, newTenantId, openTestLink } from './testing.ts';

const url = inject('urls').redis;

async function openRates() {
  const link = await openTestLink(url);
  const rates = new RedisRateLimits({ link, clock, nodes: () => 1 });
  onTestFinished(() => rates[Symbol.dispose]());
  return { link, rates };
}

/** Takes n tokens in one tick. */
function takeMany(
  rates: RedisRateLimits,
  n: number,
  of: { tenantId?: ReturnType<typeof newTenantId>; limit: RateLimit },
) {
  const tenantId = of.tenantId ?? newTenantId();
  return Promise.all(Array.from({ length: n }, () => rates.take(tenantId, of.limit)));
}

test('the burst is granted in order of arrival, the rest is told when to come again', async () => {
  const { rates } = await openRates();
  const answers = await takeMany(rates, 5, { limit: { perSecond: 0.5, burst: 3 } });

  expect(answers.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
    [false, 0],
  ]);
  expect(answers.map(({ retryAfterMs }) => retryAfterMs)).toEqual([0, 0, 0, 2000, 4000]);
  expect(answers[0]).toMatchObject({ limit: 3, resetMs: 6000 });
});

test('two nodes share one bucket', async () => {
  const { link, rates } = await openRates();
  const other = new RedisRateLimits({ link, clock, nodes: () => 1 });
  const [tenantId, limit] = [newTenantId(), { perSecond: 0.01, burst: 4 }];
  const answers = [
    ...(await takeMany(rates, 3, { tenantId, limit })),
    ...(await takeMany(other, 3, { tenantId, limit })),
  ];
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(4);
});

test('one tenant at its limit does not hold back another', async () => {
  const { rates } = await openRates();
  const limit = { perSecond: 0.01, burst: 1 };
  const answers = await Promise.all(Array.from({ length: 20 }, () => rates.take(newTenantId(), limit)));
  expect(answers.every(({ allowed }) => allowed)).toBe(true);
});

test('tokens come back at the rate, and a full bucket is no key', async () => {
  const { link, rates } = await openRates();
  const [tenantId, limit] = [newTenantId(), { perSecond: 20, burst: 1 }];
  await takeMany(rates, 1, { tenantId, limit });
  await vi.waitFor(async () => expect((await rates.take(tenantId, limit)).allowed).toBe(true), { timeout: 5000 });
  await vi.waitFor(async () => expect(await link.client.keys(`{${link.keyPrefix}:*`)).toEqual([]), { timeout: 5000 });
});

import type { TenantId } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { expect, test } from 'vitest';
import { LocalBuckets } from './local-buckets.ts';

const acme = 'acme' as TenantId;

test('a bucket grants its burst at once and then its rate', async () => {
  const clock = new VirtualClock();
  const buckets = new LocalBuckets(clock);
  const limit = { perSecond: 2, burst: 3 };

  expect(buckets.take(acme, limit, 5)).toEqual({ granted: 3, left: 0 });
  await clock.advance(750);
  expect(buckets.take(acme, limit, 5)).toEqual({ granted: 1, left: 0.5 });
  await clock.advance(60_000);
  expect(buckets.take(acme, limit, 5).granted).toBe(3);
});

test('however many tenants come, only the last ten thousand are remembered', () => {
  const buckets = new LocalBuckets(new VirtualClock());
  const limit = { perSecond: 1, burst: 1 };
  buckets.take(acme, limit, 1);
  for (let n = 0; n < 9_999; n++) buckets.take(`t${n}` as TenantId, limit, 1);
  expect(buckets.take(acme, limit, 1).granted).toBe(0);
  for (let n = 0; n < 10_000; n++) buckets.take(`u${n}` as TenantId, limit, 1);
  expect(buckets.take(acme, limit, 1).granted).toBe(1);
});

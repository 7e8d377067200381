import type { Clock } from '@turnkeeper/core';
import { expect, it } from 'vitest';
import { Backoff } from './restarts.ts';

function backoffAt(now: { ms: number }) {
  const clock: Clock = { nowMs: () => now.ms, monotonicMs: () => now.ms, sleep: () => Promise.resolve() };
  return new Backoff(clock, { next: () => '', random: () => 1 });
}

it('waits longer each time, up to 10 s', () => {
  const backoff = backoffAt({ ms: 1 });
  const waits = Array.from({ length: 8 }, () => backoff.nextMs());
  expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

it('forgets earlier deaths of what has lived for a while', () => {
  const now = { ms: 1 };
  const backoff = backoffAt(now);
  for (let i = 0; i < 5; i++) backoff.nextMs();
  backoff.started();
  now.ms += 31_000;
  expect(backoff.nextMs()).toBe(200);
});

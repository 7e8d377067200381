import { settled, VirtualClock } from '@turnkeeper/core/testing';
import { expect, test } from 'vitest';
import { type StuckError, Vitals } from './vitals.ts';

function watched(limitMs: number) {
  const clock = new VirtualClock();
  const vitals = new Vitals(clock, limitMs);
  const stuck: StuckError[] = [];
  const end = new AbortController();
  const run = vitals.run(end.signal, (error) => stuck.push(error));
  return { clock, vitals, stuck, end, run };
}

test('a client that is closed for good makes the process unready, and then ends it', async () => {
  const { clock, vitals, stuck, run } = watched(30_000);
  const link = { isOver: false };
  vitals.watchLinks({ redis: link });
  await clock.advance(60_000);
  expect(vitals.troubled).toBeNull();
  link.isOver = true;
  await clock.advance(14_000);
  expect(vitals.troubled).toBeNull();
  await clock.advance(1_000);
  expect(vitals.troubled).toBe('redis');
  expect(stuck).toEqual([]);
  await clock.advance(15_000);
  await run;
  expect(stuck.map(({ message }) => message)).toEqual([
    'redis: closed for good for 30 s; this process ends, to be started again',
  ]);
});

test('trouble that passes is forgotten', async () => {
  const { clock, vitals, stuck } = watched(10_000);
  const link = { isOver: false };
  vitals.watchLinks({ nats: link });
  for (let round = 0; round < 10; round++) {
    link.isOver = true;
    await clock.advance(9_000);
    expect(vitals.troubled).toBe('nats');
    link.isOver = false;
    await clock.advance(1_000);
    expect(vitals.troubled).toBeNull();
  }
  expect(stuck).toEqual([]);
});

test('work that is due and does not move is trouble; idleness, and steps however slow, are not', async () => {
  const { clock, vitals, stuck } = watched(5_000);
  const claims = { isDue: false, steps: 0 };
  vitals.watchProgress('claims', () => claims);
  await clock.advance(20_000);
  claims.isDue = true;
  for (let step = 1; step < 5; step++) {
    claims.steps = step;
    await clock.advance(4_000);
  }
  expect(stuck).toEqual([]);
  await clock.advance(2_000);
  expect(stuck.map(({ message }) => message)).toEqual([expect.stringContaining('claims: nothing moves for 5 s')]);
});

test('a loop must come round, with success or without', async () => {
  const { clock, vitals, stuck } = watched(5_000);
  const held = Promise.withResolvers<void>();
  const loop = vitals.watchLoop({ name: 'heartbeat', everyMs: 500, work: () => held.promise });
  const first = loop.work();
  await clock.advance(4_000);
  held.reject(new Error('no answer'));
  await expect(first).rejects.toThrow('no answer');
  await clock.advance(4_000);
  expect(stuck).toEqual([]);
  await clock.advance(2_000);
  expect(stuck).toHaveLength(1);
});

test('without a limit nothing ends, and nothing is unready', async () => {
  const { clock, vitals, stuck, end, run } = watched(0);
  vitals.watchLinks({ redis: { isOver: true } });
  await clock.advance(600_000);
  expect(vitals.troubled).toBeNull();
  end.abort();
  await settled();
  await run;
  expect(stuck).toEqual([]);
});

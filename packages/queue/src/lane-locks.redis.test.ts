import type { LaneRef } from '@turnkeeper/core';
import { expect, inject, test, vi } from 'vitest';
import { RedisLaneLocks } from './lane-locks.ts';
import { newBootId, newLane, openTestLink } from './testing.ts';

const partitionOf = (slot: number) => slot % 4;
const url = inject('urls').redis;

async function openLocks(ttlMs?: number) {
  const link = await openTestLink(url);
  return { link, locks: new RedisLaneLocks({ link, partitionOf, ...(ttlMs === undefined ? {} : { ttlMs }) }) };
}

/** Lanes over all partitions, more than fit into one script call. */
function manyLanes(): LaneRef[] {
  return Array.from({ length: 2100 }, (_, slot) => newLane(slot));
}

test('of two workers that take the same lanes, one holds each and the other is told by whom', async () => {
  const { locks } = await openLocks();
  const [a, b] = [newBootId(), newBootId()];
  const lanes = manyLanes();

  const first = await locks.take(a, lanes.slice(0, 2000));
  const second = await locks.take(b, lanes);

  expect(first).toEqual(first.map(() => ({ held: 'mine' })));
  expect(second.slice(0, 2000)).toEqual(first.map(() => ({ held: 'other', by: a })));
  expect(second.slice(2000)).toEqual(second.slice(2000).map(() => ({ held: 'mine' })));
});

test('taking again what is mine is mine', async () => {
  const { locks } = await openLocks();
  const a = newBootId();
  const lane = newLane(1);
  expect(await locks.take(a, [lane])).toEqual([{ held: 'mine' }]);
  expect(await locks.take(a, [lane])).toEqual([{ held: 'mine' }]);
});

test('a lock that is not renewed ends by itself; a renewed one does not', async () => {
  const { locks } = await openLocks(400);
  const [a, b] = [newBootId(), newBootId()];
  const [kept, left] = [newLane(1), newLane(2)];
  await locks.take(a, [kept, left]);

  await vi.waitFor(
    async () => {
      expect(await locks.renew(a, [kept])).toEqual([{ held: 'mine' }]);
      expect(await locks.take(b, [left])).toEqual([{ held: 'mine' }]);
    },
    { timeout: 5000, interval: 50 },
  );
  expect(await locks.take(b, [kept])).toEqual([{ held: 'other', by: a }]);
});

test('renewing sets a missing lock again and tells of one that another holds', async () => {
  const { locks } = await openLocks();
  const [a, b] = [newBootId(), newBootId()];
  const [missing, lost] = [newLane(1), newLane(5)];
  await locks.take(b, [lost]);

  expect(await locks.renew(a, [missing, lost])).toEqual([{ held: 'mine' }, { held: 'other', by: b }]);
  expect(await locks.take(b, [missing])).toEqual([{ held: 'other', by: a }]);
});

test('only my own locks are released', async () => {
  const { locks } = await openLocks();
  const [a, b, c] = [newBootId(), newBootId(), newBootId()];
  const [mine, others] = [newLane(1), newLane(2)];
  await locks.take(a, [mine]);
  await locks.take(b, [others]);

  await locks.release(a, [mine, others]);

  expect(await locks.take(c, [mine, others])).toEqual([{ held: 'mine' }, { held: 'other', by: b }]);
});

test('a lock of a worker that is gone counts as free, one of a live worker does not', async () => {
  const { locks } = await openLocks();
  const [dead, live, me] = [newBootId(), newBootId(), newBootId()];
  const [ofDead, ofLive, free] = [newLane(1), newLane(2), newLane(3)];
  await locks.take(dead, [ofDead]);
  await locks.take(live, [ofLive]);

  const answers = await locks.take(me, [ofLive, ofDead, free], new Set([dead]));

  expect(answers).toEqual([{ held: 'other', by: live }, { held: 'mine' }, { held: 'mine' }]);
  expect(await locks.take(live, [ofDead])).toEqual([{ held: 'other', by: me }]);
});

test('a lane that nobody works on uses no memory in Redis', async () => {
  const { link, locks } = await openLocks();
  const a = newBootId();
  const lanes = manyLanes();
  await locks.take(a, lanes);
  await locks.release(a, lanes);
  expect(await link.client.keys(`{${link.keyPrefix}:*`)).toEqual([]);
});

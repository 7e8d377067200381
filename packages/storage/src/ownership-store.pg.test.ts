import type { BootId } from '@turnkeeper/core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { freshId, openStage, type Stage } from './testing/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(inject('urls'));
});
afterAll(() => stage.close());
beforeEach(async () => {
  await stage.rows('delete from tk.workers');
  await stage.rows('update tk.partitions set owner = null');
});

const ownerOf = async (id: number) =>
  (await stage.ownership.view()).partitions.find((partition) => partition.id === id);

test('a free partition goes to one live worker, and to another only when it is free again', async () => {
  const [a, b] = [await stage.worker(), await stage.worker()];
  expect(await stage.ownership.acquire(a, [1, 2])).toEqual([1, 2]);
  expect(await stage.ownership.acquire(b, [2, 3])).toEqual([3]);
  expect(await stage.ownership.acquire(a, [1, 2, 3])).toEqual([1, 2]);
  await stage.ownership.release(b, [1, 2]);
  expect(await ownerOf(2)).toMatchObject({ owner: a, ownerState: 'live' });
  const before = (await ownerOf(2))?.epoch ?? '';
  await stage.ownership.release(a, [2]);
  expect(await stage.ownership.acquire(b, [2])).toEqual([2]);
  expect(BigInt((await ownerOf(2))?.epoch ?? 0)).toBe(BigInt(before) + 2n);
});

test('workers that want the same partitions at once share them without a double', async () => {
  const workers = await Promise.all([1, 2, 3].map(() => stage.worker()));
  const ids = [...Array(16).keys()];
  const got = await Promise.all(
    workers.map((worker, i) => stage.ownership.acquire(worker, i === 1 ? [...ids].reverse() : ids)),
  );
  expect(got.flat().sort((a, b) => a - b)).toEqual(ids);
});

test('the partitions of a dead or gone worker are free to take, those of a leaving one are not', async () => {
  const [dead, gone, leaving, next] = [
    await stage.worker(),
    await stage.worker(),
    await stage.worker(),
    await stage.worker(),
  ];
  await stage.ownership.acquire(dead, [1]);
  await stage.ownership.acquire(leaving, [2]);
  await stage.ownership.acquire(gone, [3]);
  await stage.kill(dead);
  await stage.ownership.leave(leaving);
  await stage.ownership.gone(gone);
  expect(await ownerOf(3)).toMatchObject({ owner: null, ownerState: null });
  expect(await stage.ownership.acquire(next, [1, 2, 3])).toEqual([1, 3]);
});

test('a worker that is leaving or unknown takes nothing', async () => {
  const leaving = await stage.worker();
  await stage.ownership.leave(leaving);
  expect(await stage.ownership.acquire(leaving, [1])).toEqual([]);
  expect(await stage.ownership.acquire(freshId<BootId>(), [1])).toEqual([]);
});

test('a heartbeat keeps live and leaving processes, and tells a dead, gone or unknown one to end', async () => {
  const worker = await stage.worker();
  expect(await stage.ownership.heartbeat(worker)).toBe(true);
  await stage.ownership.leave(worker);
  expect(await stage.ownership.heartbeat(worker)).toBe(true);
  await stage.ownership.gone(worker);
  expect(await stage.ownership.heartbeat(worker)).toBe(false);
  const dead = await stage.worker();
  await stage.kill(dead);
  expect(await stage.repair.countFalseDeaths()).toBe(0);
  expect(await stage.ownership.heartbeat(dead)).toBe(false);
  expect(await stage.ownership.heartbeat(dead)).toBe(false);
  expect(await stage.repair.countFalseDeaths()).toBe(1);
  expect(await stage.repair.countFalseDeaths()).toBe(0);
  await stage.ownership.gone(dead);
  await stage.ownership.leave(dead);
  expect(await stage.rows('select state from tk.workers where boot_id = $1', [dead])).toEqual([{ state: 3 }]);
  expect(await stage.ownership.heartbeat(freshId<BootId>())).toBe(false);
});

test('the view shows session-workers that are live or leaving, and every partition', async () => {
  const [a, b, dead] = [await stage.worker(), await stage.worker(), await stage.worker()];
  await stage.ownership.leave(b);
  await stage.kill(dead);
  await stage.ownership.register({
    bootId: freshId<BootId>(),
    kind: 'ingress',
    name: 'i',
    pid: 1,
    version: '0',
    turnSlots: 0,
  });
  const view = await stage.ownership.view();
  expect(view.workers.map(({ bootId, state, turnSlots }) => ({ bootId, state, turnSlots }))).toEqual([
    { bootId: a, state: 'live', turnSlots: 10 },
    { bootId: b, state: 'leaving', turnSlots: 10 },
  ]);
  expect(view.workers[0]?.silentMs).toBeGreaterThanOrEqual(0);
  expect(view.partitions.map((partition) => partition.id)).toEqual([...Array(16).keys()]);
});

test('the slot map gives slot s to partition s mod 16', async () => {
  expect([...(await stage.ownership.slotMap())]).toEqual(Array.from({ length: 4096 }, (_, slot) => slot % 16));
});

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PartitionLayout } from './partition-layout.ts';
import { allPages, openReadStage, type ReadStage } from './testing/read-stage.ts';

let read: ReadStage;
let layout: PartitionLayout;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  layout = new PartitionLayout(read.admin);
});
afterAll(() => read.close());

const counts = async () => {
  const map = await read.stage.ownership.slotMap();
  const bySlot = new Map<number, number>();
  for (const partition of map) bySlot.set(partition, (bySlot.get(partition) ?? 0) + 1);
  return bySlot;
};
const ids = async () =>
  (await allPages((cursor) => read.cluster.partitions({ limit: 50, cursor }))).map(({ id }) => id);

test('a split gives half of the slots to a new, free partition, and a merge gives them back', async () => {
  const before = await counts();
  const owner = await read.stage.worker();
  await read.stage.ownership.acquire(owner, [3]);
  expect(await layout.split(3)).toEqual({ from: 3, to: 16, slots: 128 });
  expect(await ids()).toContain(16);
  expect([(await counts()).get(3), (await counts()).get(16)]).toEqual([128, 128]);
  expect(await read.stage.ownership.acquire(owner, [16])).toEqual([16]);
  expect(await layout.merge(16, 3)).toEqual({ from: 16, to: 3, slots: 128 });
  expect(await counts()).toEqual(before);
  expect(await ids()).not.toContain(16);
  expect(await read.stage.ownership.acquire(owner, [16])).toEqual([]);
});

test('two splits at once make two partitions', async () => {
  const changes = await Promise.all([layout.split(4), layout.split(4)]);
  expect(new Set(changes.map(({ to }) => to)).size).toBe(2);
  expect(changes.map(({ slots }) => slots).sort()).toEqual([128, 64].sort());
});

test('what is not there, or has nothing to give, is refused and nothing changes', async () => {
  const before = await counts();
  await expect(layout.split(99)).rejects.toMatchObject({ code: 'not_found' });
  await expect(layout.merge(1, 99)).rejects.toMatchObject({ code: 'not_found' });
  await expect(layout.merge(1, 1)).rejects.toMatchObject({ code: 'cannot_change' });
  expect(await counts()).toEqual(before);
});

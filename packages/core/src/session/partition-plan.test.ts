import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BootId } from '../ids.ts';
import type { PartitionRow, WorkerRow } from '../ports/ownership.ts';
import { SeededIds } from '../testing/index.ts';
import { PartitionPlanner, preferredOwner } from './partition-plan.ts';

const ids = new SeededIds(7);
const [a, b, c] = [ids.next() as BootId, ids.next() as BootId, ids.next() as BootId];

function worker(bootId: BootId, over: Partial<WorkerRow> = {}): WorkerRow {
  return { bootId, state: 'live', turnSlots: 1, silentMs: 100, ...over };
}

function owned(id: number, owner: BootId | null, ownerState: PartitionRow['ownerState'] = 'live'): PartitionRow {
  return { id, owner, ownerState: owner === null ? null : ownerState, epoch: '1' };
}

const all = (owner: BootId | null, state: PartitionRow['ownerState'] = 'live') =>
  Array.from({ length: 16 }, (_, id) => owned(id, owner, state));

describe('the plan of partitions', () => {
  it('takes every free one that is alone in the world', () => {
    const { acquire } = new PartitionPlanner(a).plan({ workers: [worker(a)], partitions: all(null) }, 0);
    expect(acquire).toHaveLength(16);
  });

  it('makes all workers agree who has what, without asking each other', () => {
    const view = { workers: [worker(a), worker(b), worker(c)], partitions: all(null) };
    const wanted = [a, b, c].map((me) => new PartitionPlanner(me).plan(view, 0).acquire);
    expect(wanted.flat().sort((x, y) => x - y)).toEqual(all(null).map(({ id }) => id));
  });

  it('hands over what another live worker should have, and nothing else', () => {
    const view = { workers: [worker(a), worker(b)], partitions: all(a) };
    const { acquire, handOver } = new PartitionPlanner(a).plan(view, 0);
    expect(acquire).toEqual([]);
    expect(handOver).toEqual(all(a).flatMap(({ id }) => (preferredOwner(id, [a, b]) === b ? [id] : [])));
    expect(handOver.length).toBeGreaterThan(0);
  });

  it('does not count on a worker that leaves or has fallen silent', () => {
    for (const other of [worker(b, { state: 'leaving' }), worker(b, { silentMs: 2_000 })]) {
      const view = { workers: [worker(a), other], partitions: all(a) };
      expect(new PartitionPlanner(a).plan(view, 0).handOver).toEqual([]);
    }
  });

  it('takes what the dead and gone owned, and leaves alone what the living own', () => {
    const partitions = [owned(0, b, 'dead'), owned(1, b, 'gone'), owned(2, b, 'leaving'), owned(3, b, 'live')];
    expect(new PartitionPlanner(a).plan({ workers: [worker(a)], partitions }, 0).acquire).toEqual([0, 1]);
  });

  it('takes after two seconds what the worker that should have it leaves alone, and does not offer it again at once', () => {
    const planner = new PartitionPlanner(a);
    const workers = [worker(a), worker(b)];
    const others = all(null).filter(({ id }) => preferredOwner(id, [a, b]) === b);
    expect(planner.plan({ workers, partitions: others }, 0).acquire).toEqual([]);
    expect(planner.plan({ workers, partitions: others }, 1_999).acquire).toEqual([]);
    expect(planner.plan({ workers, partitions: others }, 2_000).acquire).toEqual(others.map(({ id }) => id));
    const mine = others.map(({ id }) => owned(id, a));
    expect(planner.plan({ workers, partitions: mine }, 2_500).handOver).toEqual([]);
    expect(planner.plan({ workers, partitions: mine }, 32_000).handOver).toEqual(mine.map(({ id }) => id));
  });

  it('counts the two seconds anew after somebody owned it', () => {
    const planner = new PartitionPlanner(a);
    const workers = [worker(a), worker(b)];
    const [id] = all(null).flatMap((row) => (preferredOwner(row.id, [a, b]) === b ? [row.id] : []));
    if (id === undefined) throw new Error('b should have some');
    planner.plan({ workers, partitions: [owned(id, null)] }, 0);
    planner.plan({ workers, partitions: [owned(id, b)] }, 1_500);
    expect(planner.plan({ workers, partitions: [owned(id, null)] }, 2_500).acquire).toEqual([]);
  });

  it('moves only the share of a worker that comes or goes, and shares evenly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 1000 }), (count, seed) => {
        const seeded = new SeededIds(seed);
        const before = Array.from({ length: count }, () => seeded.next() as BootId);
        const newcomer = seeded.next() as BootId;
        const after = [...before, newcomer];
        const partitions = Array.from({ length: 256 }, (_, id) => id);
        for (const id of partitions) {
          const owner = preferredOwner(id, after);
          if (owner !== newcomer) expect(owner).toBe(preferredOwner(id, before));
        }
        const share = partitions.filter((id) => preferredOwner(id, after) === newcomer).length;
        expect(share).toBeGreaterThan(256 / after.length / 4);
        expect(share).toBeLessThan((256 / after.length) * 2);
      }),
      { numRuns: 100 },
    );
  });
});

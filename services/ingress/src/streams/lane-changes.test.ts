import type { LaneId, LanePage, LaneRef, TenantId } from '@turnkeeper/core';
import { settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { expect, test } from 'vitest';
import { LaneChanges } from './lane-changes.ts';

const lane: LaneRef = { slot: 0, tenantId: 't' as TenantId, laneId: 'l' as LaneId };

test.each([0, 1, 2, 3, 4, 5])('a reader that asks again %d steps after its answer is read for', async (steps) => {
  const clock = new VirtualClock();
  const pageAfter = (after: number): LanePage => ({ events: [], upTo: after + 1, head: 9 });
  const reads = {
    heads: async () => [],
    changes: async (asked: readonly { readonly after: number }[]) => asked.map(({ after }) => pageAfter(after)),
  };
  const changes = new LaneChanges({ reads, clock, logger: silentLogger });
  const read: number[] = [];
  const reader = async () => {
    for (let after = 0; after < 3; after++) {
      read.push((await changes.read(lane, after))?.upTo ?? -1);
      for (let step = 0; step < steps; step++) await null;
    }
  };

  const done = reader();
  for (let tick = 0; tick < 10 && read.length < 3; tick++) {
    await clock.advance(2);
    await settled();
  }

  expect(read).toEqual([1, 2, 3]);
  await done;
});

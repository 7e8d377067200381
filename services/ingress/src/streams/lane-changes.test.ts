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

test('lanes that a read had no room for are read for again, beside who asks the same meanwhile', async () => {
  const clock = new VirtualClock();
  const page: LanePage = { events: [], upTo: 1, head: 1 };
  const reads = {
    heads: async () => [],
    // room for one lane
    changes: async (asked: readonly object[]) => asked.map((_, i) => (i === 0 ? page : ('later' as const))),
  };
  const changes = new LaneChanges({ reads, clock, logger: silentLogger });
  const lanes = ['a', 'b', 'c'].map((id) => ({ ...lane, laneId: id as LaneId }));
  const reading = lanes.map((one) => changes.read(one, 0));
  await clock.advance(2);
  reading.push(...lanes.map((one) => changes.read(one, 0)));
  for (let tick = 0; tick < 10; tick++) {
    await clock.advance(2);
    await settled();
  }
  expect(await Promise.all(reading)).toEqual(reading.map(() => page));
});

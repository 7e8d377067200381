import { expect, test } from 'vitest';
import type { BootId } from '../ids.ts';
import type { PartitionRow } from '../ports/ownership.ts';
import { VirtualClock } from '../testing/index.ts';
import { OwnerlessPartitions } from './ownerless-partitions.ts';

function partition(id: number, ownerState: PartitionRow['ownerState']): PartitionRow {
  return { id, owner: ownerState === null ? null : ('boot' as BootId), ownerState, epoch: '1' };
}

test('the longest time without a living owner is told, counted from when it was first seen', async () => {
  const clock = new VirtualClock();
  const ownerless = new OwnerlessPartitions(clock);
  expect(ownerless.seen([partition(0, 'live'), partition(1, 'leaving')])).toBe(0);

  ownerless.seen([partition(0, 'dead'), partition(1, 'live')]);
  await clock.advance(700);
  ownerless.seen([partition(0, null), partition(1, 'gone')]);
  await clock.advance(300);
  expect(ownerless.seen([partition(0, null), partition(1, null)])).toBe(1000);

  expect(ownerless.seen([partition(0, 'live'), partition(1, null)])).toBe(300);
  expect(ownerless.seen([partition(0, 'live'), partition(1, 'live')])).toBe(0);
  await clock.advance(5000);
  expect(ownerless.seen([partition(0, null), partition(1, 'live')])).toBe(0);
});

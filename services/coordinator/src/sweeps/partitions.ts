import type { Gauge, OwnerlessPartitions, OwnershipStore, RepairStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface PartitionsOptions {
  readonly repair: Pick<RepairStore, 'freePartitions'>;
  readonly ownership: Pick<OwnershipStore, 'view'>;
  readonly ownerless: OwnerlessPartitions;
  /** `partition_owner_missing_seconds` */
  readonly missing: Gauge;
}

/** Frees partitions whose owner is dead or gone and tells how long any has been without; workers take them by themselves. */
export function partitions(options: PartitionsOptions): Sweep {
  const { missing, ownerless, ownership, repair } = options;
  return {
    name: 'partitions',
    deadlineMs: 2000,
    run: async () => {
      const freed = await repair.freePartitions();
      const view = await ownership.view();
      missing.set(ownerless.seen(view.partitions) / 1000);
      return { freed: freed.length };
    },
    end: () => missing.set(0),
  };
}

import type { LaneRef, OwnershipStore, WakeUp, WakeUps } from '@turnkeeper/core';

export interface LaneWakerOptions {
  readonly ownership: Pick<OwnershipStore, 'slotMap'>;
  readonly wakeUps: WakeUps;
}

/** Tells the owners of lanes to look at them, whatever they know. A repair is rare: the slot map is read each time. @throws StoreError */
export async function wakeLanes({ ownership, wakeUps }: LaneWakerOptions, lanes: readonly LaneRef[]): Promise<void> {
  if (lanes.length === 0) return;
  const partitionOf = await ownership.slotMap();
  const byPartition = new Map<number, WakeUp[]>();
  for (const lane of lanes) {
    const partition = partitionOf[lane.slot] ?? 0;
    const group = byPartition.get(partition) ?? [];
    group.push({ lane, ord: null });
    byPartition.set(partition, group);
  }
  for (const [partition, group] of byPartition) wakeUps.wake(partition, group);
}

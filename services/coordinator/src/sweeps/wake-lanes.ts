import type { Clock, LaneRef, LiveStream, OwnershipStore, WakeUp, WakeUps } from '@turnkeeper/core';

export interface LaneWakerOptions {
  readonly ownership: Pick<OwnershipStore, 'slotMap'>;
  readonly wakeUps: WakeUps;
  readonly live: Pick<LiveStream, 'publish'>;
  readonly clock: Clock;
}

/**
 * Tells the owners of lanes to look at them, whatever they know, and their readers that there are rows to be read. A repair
 * is rare: the slot map is read each time. @throws StoreError
 */
export async function wakeLanes(options: LaneWakerOptions, lanes: readonly LaneRef[]): Promise<void> {
  const { ownership, wakeUps, live, clock } = options;
  if (lanes.length === 0) return;
  const at = new Date(clock.nowMs()).toISOString();
  // readers take what is durable from rows: this names none
  for (const lane of lanes) live.publish(lane, { type: 'session.updated', at, sessionKey: '', data: {} });
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

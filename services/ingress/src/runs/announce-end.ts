import {
  type Clock,
  type Counter,
  formatId,
  type LaneRef,
  type LiveStream,
  type RunRecord,
  type WakeUps,
} from '@turnkeeper/core';
import type { SlotMap } from '../node/slot-map.ts';

export interface AnnounceParts {
  readonly wakeUps: WakeUps;
  readonly live: Pick<LiveStream, 'publish'>;
  readonly slots: SlotMap;
  readonly clock: Clock;
  readonly settled: Counter;
}

/** Says that a run was ended from here: to those who watch it, and to the owner of its lane, which may have more work. */
export function announceEnd(parts: AnnounceParts): (lane: LaneRef, run: RunRecord) => void {
  return (lane, run) => {
    const { wakeUps, live, slots, clock, settled } = parts;
    settled.inc({ status: run.status });
    wakeUps.wake(slots.partitionOf(lane.slot), [{ lane, ord: null }]);
    const runId = formatId('run', run.runId);
    live.publish(lane, {
      type: 'run.settled',
      at: new Date(clock.nowMs()).toISOString(),
      sessionKey: run.sessionKey,
      runIds: [runId],
      data: { runId, eventId: formatId('evt', run.runId), status: run.status },
    });
  };
}

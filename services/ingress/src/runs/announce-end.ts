import {
  type Clock,
  type Counter,
  type EventId,
  formatId,
  type LaneRef,
  type LiveStream,
  type RunRecord,
  type SessionId,
  type TurnId,
  type WakeUps,
} from '@turnkeeper/core';
import type { SlotMap } from '../node/slot-map.ts';

export interface AnnounceParts {
  readonly wakeUps: WakeUps;
  readonly live: Pick<LiveStream, 'publish'>;
  readonly slots: Pick<SlotMap, 'partitionOf'>;
  readonly clock: Clock;
  readonly settled: Counter;
}

/** What is told of a run that ended. */
export type EndedRun = Pick<RunRecord, 'runId' | 'status' | 'sessionKey'>;

/** Says that a run was ended from here: to those who watch it, and to the owner of its lane, which may have more work. */
export function announceEnd(parts: AnnounceParts): (lane: LaneRef, run: EndedRun) => void {
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

/** What a command did to a conversation, for those who watch it. */
export interface ControlledLane {
  readonly lane: LaneRef;
  readonly sessionKey: string;
  readonly sessionId: SessionId | null;
  readonly seq: string;
  /** Was running and was ended. */
  readonly turnId: TurnId | null;
  readonly ended: readonly EventId[];
}

/**
 * Says what a command did: to readers, that there are rows behind this seq, and to the lane's owner, which may have more
 * work, a delivery, or a lane that is free again. Readers are told of rows alone, so what is published here is a hint.
 */
export function announceControl(parts: AnnounceParts): (controlled: ControlledLane) => void {
  const endRun = announceEnd(parts);
  return ({ lane, sessionKey, sessionId, seq, turnId, ended }) => {
    const { wakeUps, live, slots, clock } = parts;
    const change =
      turnId === null
        ? { type: 'session.updated', data: {} }
        : {
            ...{ type: 'turn.interrupted', turnId: formatId('trn', turnId) },
            data: { reason: 'stop', willResume: false },
          };
    live.publish(lane, {
      ...{ ...change, at: new Date(clock.nowMs()).toISOString(), seq, sessionKey },
      ...(sessionId === null ? {} : { sessionId: formatId('ses', sessionId) }),
    });
    for (const runId of ended) endRun(lane, { runId, status: 'discarded', sessionKey });
    if (ended.length === 0) wakeUps.wake(slots.partitionOf(lane.slot), [{ lane, ord: null }]);
  };
}

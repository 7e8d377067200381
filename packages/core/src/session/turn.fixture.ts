import type { AgentId, EventId, LaneId, SessionId, TenantId, TurnId } from '../ids.ts';
import type { ClaimedTurn } from '../ports/lane.ts';
import type { Counter, Histogram } from '../ports/runtime.ts';
import type { LiveEvent, LiveStream } from '../ports/signals.ts';

/** A claimed turn of one event; its ids are UUIDs that end in `n`. */
export function turnOf(n: number, over: Partial<ClaimedTurn> = {}): ClaimedTurn {
  const source = { platform: 'api', chatType: 'dm' };
  return {
    result: 'claimed',
    lane: { slot: 1, tenantId: uuid(1, n) as TenantId, laneId: uuid(2, n) as LaneId },
    fence: { fence: '1', turnId: uuid(3, n) as TurnId },
    agentId: uuid(4, n) as AgentId,
    sessionKey: 'key',
    source,
    sessionId: uuid(5, n) as SessionId,
    seq: '7',
    reason: 'message',
    resumeOf: null,
    interrupted: null,
    startedAt: new Date(1_000),
    events: [
      {
        eventId: uuid(6, n) as EventId,
        ord: String(n),
        kind: 'message',
        accountId: null,
        body: { text: 'hello', source },
        attempts: 0,
        acceptedAt: new Date(0),
        traceparent: null,
      },
    ],
    ...over,
  };
}

function uuid(kind: number, n: number): string {
  return `00000000-0000-7000-8000-${String(kind).padStart(4, '0')}${String(n).padStart(8, '0')}`;
}

/** Keeps what was published. */
export class RecordedStream implements LiveStream {
  readonly events: LiveEvent[] = [];
  readonly connected = true;
  watched = true;

  isWatched(): boolean {
    return this.watched;
  }

  publish(_lane: unknown, event: LiveEvent): void {
    this.events.push(event);
  }

  subscribeTenant(): () => void {
    return () => undefined;
  }

  subscribe(): () => void {
    return () => undefined;
  }
}

export const noCounter: Counter = { inc: () => undefined };
export const noHistogram: Histogram = { observe: () => undefined };

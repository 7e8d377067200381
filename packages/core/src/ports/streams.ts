import type { EventId, LaneRef, TenantId, TurnId } from '../ids.ts';
import type { LiveEvent } from './signals.ts';

/** What became durable in a lane, as readers get it. Ids are public ones. */
export interface DurableEvent extends Omit<LiveEvent, 'seq'> {
  /** The lane's seq of the transaction that wrote it; shared by all that it wrote. */
  readonly seq: number;
}

export interface LaneHead {
  readonly lane: LaneRef;
  readonly sessionKey: string;
  /** Raised by each transaction that readers are told of. */
  readonly seq: number;
  /** A turn runs. */
  readonly isRunning: boolean;
}

/** What changed in a lane after a seq, in its present state: steps in between may be missing, final states never. */
export interface LanePage {
  /** In stream order. */
  readonly events: readonly DurableEvent[];
  /** Everything up to here is in `events`; the next page begins behind it. */
  readonly upTo: number;
  readonly head: number;
}

/** Accepted, not yet claimed. */
export interface PendingEvent {
  readonly eventId: EventId;
  /** The id that the sender gave it. */
  readonly clientId: string | null;
  /** Unfinished events of the lane before it, the running ones included. */
  readonly position: number;
}

/** Where a run stands in the stream of its lane. */
export interface RunInStream {
  /** Everything that concerns the run comes after this seq. */
  readonly before: number;
  /** The seq that ended it; null: it goes on, or it was refused when it came and no seq tells of it. */
  readonly ended: number | null;
  readonly isFinal: boolean;
  /** The turn that runs it, or the last that ended with it. */
  readonly turnId: TurnId | null;
}

/** Microseconds since 1970 on the database clock. */
export type Micros = number;

export interface TenantPage {
  /** With where each stands now. */
  readonly lanes: readonly { readonly lane: LaneRef; readonly seq: number }[];
  /** All that changed up to here is in `lanes`; the next page begins behind it. Null: that was all. */
  readonly upTo: Micros | null;
  readonly now: Micros;
}

/** Streams are built from the rows alone, on any node. Answer i belongs to item i; null = no such lane. */
export interface StreamReads {
  /** @throws StoreError */
  heads(lanes: readonly LaneRef[]): Promise<(LaneHead | null)[]>;
  /**
   * A page of each lane; null: no such lane; `later`: the read was full before this one's turn came, ask for it again. The first
   * one is never later. @throws StoreError
   */
  changes(items: readonly { readonly lane: LaneRef; readonly after: number }[]): Promise<(LanePage | 'later' | null)[]>;
  /** The first of them, oldest first. @throws StoreError */
  pending(lane: LaneRef): Promise<PendingEvent[]>;
  /**
   * Lanes of a tenant that changed after a moment, a bounded number of changes, the oldest first; `since` null = none,
   * only the time. @throws StoreError
   */
  tenantChanges(tenantId: TenantId, since: Micros | null): Promise<TenantPage>;
  /** For each lane a seq behind which is all that changed after the moment. @throws StoreError */
  seqsAt(lanes: readonly LaneRef[], at: Micros): Promise<number[]>;
  /** Null = no such run. @throws StoreError */
  runInStream(tenantId: TenantId, runId: EventId): Promise<RunInStream | null>;
}

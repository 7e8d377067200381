import type { EventId, LaneRef, TenantId } from '../ids.ts';
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

/** Streams are built from the rows alone, on any node. Answer i belongs to item i; null = no such lane. */
export interface StreamReads {
  /** @throws StoreError */
  heads(lanes: readonly LaneRef[]): Promise<(LaneHead | null)[]>;
  /** @throws StoreError */
  changes(items: readonly { readonly lane: LaneRef; readonly after: number }[]): Promise<(LanePage | null)[]>;
  /** The first of them, oldest first. @throws StoreError */
  pending(lane: LaneRef): Promise<PendingEvent[]>;
  /** The seq after which everything that concerns the run comes; null = no such run. @throws StoreError */
  seqBefore(tenantId: TenantId, runId: EventId): Promise<number | null>;
}

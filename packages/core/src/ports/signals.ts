import type { BootId, LaneId, LaneRef, TenantId, TurnId } from '../ids.ts';

/** A lane that has work, with the highest event that the sender knows, so that a lane already served is dropped without a claim. */
export interface WakeUp {
  readonly lane: LaneRef;
  /** events.ord as text; null = look anyway (a resume, a released lane). */
  readonly ord: string | null;
}

/**
 * Tells the owner of a partition that lanes have work. May be lost, doubled, late, or reach the wrong worker: the
 * owner's scan covers. Never throws, never blocks its caller; failures are counted.
 */
export interface WakeUps {
  wake(partition: number, wakeUps: readonly WakeUp[]): void;
}

/** Redis lane locks: they keep rivals quiet, nothing more. All batched. When Redis is away every call answers `away`. */
export interface LaneLocks {
  /**
   * Per lane: `mine`, or the boot id of another, or `away`. A lock of a boot id in `gone` (known dead or gone) counts
   * as free.
   */
  take(bootId: BootId, lanes: readonly LaneRef[], gone?: ReadonlySet<BootId>): Promise<LockAnswer[]>;
  /** Sets missing ones again; answers as take. */
  renew(bootId: BootId, lanes: readonly LaneRef[]): Promise<LockAnswer[]>;
  /** Deletes those that are mine; resolves when Redis has answered or is known to be away. */
  /** False: Redis is there and refused, so some may stay until their time to live. */
  release(bootId: BootId, lanes: readonly LaneRef[]): Promise<boolean>;
}
export type LockAnswer = { readonly held: 'mine' | 'away' } | { readonly held: 'other'; readonly by: BootId };

/** A live event on its way to sockets. The envelope of surface §4, without what the reader adds. */
export interface LiveEvent {
  readonly type: string;
  readonly at: string;
  readonly seq?: string;
  readonly sessionKey: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly attempt?: number;
  readonly runIds?: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** NATS: live events that may be lost. Never throws; what cannot be sent is dropped and counted. */
export interface LiveStream {
  publish(lane: LaneRef, event: LiveEvent): void;
  /** Calls back for each event of the lane until the returned function is called. */
  subscribe(lane: LaneRef, onEvent: (event: LiveEvent) => void): () => void;
  /** As `subscribe`, for every lane of the tenant. */
  subscribeTenant(tenantId: TenantId, onEvent: (lane: LaneRef, event: LiveEvent) => void): () => void;
  /** False: nobody listens to this lane as far as is known, so that publishing to it would be wasted. */
  isWatched(lane: LaneRef): boolean;
  /** False while NATS does not answer: readers poll then. */
  readonly connected: boolean;
}

/** Signals to the worker that runs a turn. They name the turn, never the lane (protocol H19). */
export interface ControlSignals {
  stopTurn(tenantId: TenantId, turnId: TurnId): void;
  onStopTurn(handler: (turnId: TurnId) => void): () => void;
  /** A worker says goodbye, so that the others take over its partitions at once. */
  sayGoodbye(bootId: BootId): void;
  onGoodbye(handler: (bootId: BootId) => void): () => void;
}

/** A reader that joins in mid-turn asks the lane's worker for the text so far. May be lost. Never throws. */
export interface Snapshots {
  ask(lane: LaneRef): void;
  onAsked(handler: (laneId: LaneId) => void): () => void;
}

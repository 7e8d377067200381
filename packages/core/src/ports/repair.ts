import type { RunErrorCode } from '../errors.ts';
import type { BootId, LaneRef, MessageId, SessionId, TenantId, TurnId } from '../ids.ts';
import type { LifecycleLimits, SessionStatus } from '../routing/lifecycle.ts';
import type { DeliveryRef } from './delivery.ts';

/** A running turn whose process is dead or gone, and all that its fate hangs on. */
export interface LostTurn {
  readonly lane: LaneRef;
  readonly turnId: TurnId;
  /** False: the process ended as planned. */
  readonly crashed: boolean;
  /** Since the process's last heartbeat. */
  readonly lostForMs: number;
  /** Since the turn began. */
  readonly ageMs: number;
  readonly suspended: boolean;
  readonly resumePending: string | null;
  /** Automatic resumes of the lane in a row. */
  readonly resumes: number;
  /** Nobody waits for the answer. */
  readonly isMachine: boolean;
  /** Crashes and refused claims that its events have had before. */
  readonly failures: number;
  /** Rows that the turn has stored. */
  readonly steps: number;
  readonly lastStep: { readonly role: string; readonly text: string; readonly afterMs: number } | null;
  readonly bootId: BootId;
  /** Replies of the account that it answers are sent until they are proven to have arrived. */
  readonly ledgerEnabled: boolean;
  /** Since the last takeovers in which turns that had been resumed before were lost again; this process's is not among them. */
  readonly resumesLostAgoMs: readonly number[];
  readonly limits: RecoveryLimits;
}

/** What an agent's configuration says of interruptions. */
export interface RecoveryLimits {
  /** Without a sign of life. */
  readonly inactiveMsMax: number;
  /** An interruption older than this waits for a person; 0 = however old. */
  readonly freshnessMs: number;
  /** Crashes in a row after which the lane suspends itself. */
  readonly resumesMax: number;
  /** Crashes and refused claims after which an event is parked. */
  readonly failuresMax: number;
}

/** What becomes of a lost turn; written only where it is still as it was seen. */
export interface TurnVerdict {
  readonly lost: LostTurn;
  readonly outcome: 'resume' | 'requeued' | 'replied' | 'silent' | 'stale' | 'held' | 'suspended' | 'parked';
  readonly events: 'queued' | 'resuming' | 'ok' | 'no_reply' | 'timeout' | 'refused' | 'parked';
  readonly error: RunErrorCode | null;
  /** The flag that adds a note to the next turn; null leaves it as it is, but for an end that takes it away (`clearsResume`). */
  readonly pending: string | null;
  readonly resumes: number;
  readonly suspend: boolean;
  /** The reply that is stored becomes a delivery, marked as recovered. */
  readonly owesReply: boolean;
  /** Its id is that of what is owed: told once, however often it is decided. */
  readonly notice: { readonly id: MessageId; readonly code: string; readonly text: string } | null;
  /** It had been resumed before, and would be, or is, again: its process counts as one that resumes may have ended. */
  readonly lostAgain: boolean;
}

export interface InterruptedTurn {
  readonly lane: LaneRef;
  readonly turnId: TurnId;
  readonly outcome: TurnVerdict['outcome'];
  /** Since the owner's last heartbeat. */
  readonly lostForMs: number;
}

/** A send whose outcome nobody knows. */
export interface UnknownSend extends DeliveryRef {
  /** Sends started, this one counted. */
  readonly attempt: number;
  /** Of its message. */
  readonly ageMs: number;
  /** Since the last that is known of it. */
  readonly sinceMs: number;
  /** It waited for a person, and its time is over. */
  readonly held: boolean;
  /** What its account wants. */
  readonly onUnknown: 'resend' | 'hold';
  /** Its account wants replies to be sent until they are proven to have arrived. */
  readonly ledgerEnabled: boolean;
}

export interface UnknownVerdict {
  readonly send: UnknownSend;
  readonly verdict: 'resend' | 'hold' | 'abandon';
  readonly holdMs: number | null;
  /** Why it was given up. */
  readonly error: string | null;
}

/** What a tenant has in the queue and in work, for its metrics. */
export interface TenantLoad {
  readonly tenantId: TenantId;
  readonly queued: number;
  readonly turnsRunning: number;
  /** Age of its oldest event that waits in a lane where no turn runs; null when none waits. */
  readonly oldestReadyMs: number | null;
  /** `queued` divided by the tenant's `queuedPerTenant`. */
  readonly quotaUsedRatio: number;
}

/** What the whole cluster owes, for the leader's metrics. */
export interface ClusterLoad {
  /** Events that wait for a turn, as last measured per tenant. */
  readonly eventsQueued: number;
  readonly deliveriesUnknown: number;
  readonly lanesSuspended: number;
  /** Turns that wait for a person. */
  readonly turnsWaiting: number;
  /** Age of the oldest reply that is not delivered and may still be; null when none is owed. */
  readonly deliveryOldestMs: number | null;
}

/** What only the coordinator's leader does. Each call is safe to repeat and safe with two leaders at once. */
export interface RepairStore {
  /** Takes or renews the lease `name`, compare-and-set on the database clock; true when held by me. */
  lead(name: string, holder: BootId, leaseMs: number): Promise<boolean>;
  resign(name: string, holder: BootId): Promise<void>;
  /** The database clock (milliseconds since 1970), to see jumps against the monotonic clock. */
  databaseNowMs(): Promise<number>;
  /**
   * Processes whose lease is over, made dead by compare-and-set. Call only after a whole lease of healthy own writes.
   * Declares nobody unless `clock_timestamp()` is within 1 s of `expectedDatabaseMs` when the statement runs: a statement that
   * waited through an outage, or met a clock jump, would else find every lease over.
   */
  declareDead(leaseMs: number, expectedDatabaseMs: number): Promise<BootId[]>;
  /** Processes that were declared dead and have sent a heartbeat since, each counted once. @throws StoreError */
  countFalseDeaths(): Promise<number>;
  /** Commits that processes were refused after they had been declared dead, each counted once. @throws StoreError */
  countStaleCommits(): Promise<number>;
  /** Running turns whose owner is dead or gone, at most `limit`, with so many of the last `resumesLostAgoMs`. @throws StoreError */
  lostTurns(limit: number, takeovers: number): Promise<LostTurn[]>;
  /**
   * Interrupts turns by compare-and-set, each with its verdict: true where it was written. False: the turn ended, stored
   * another step, or somebody holds its lane; the next look decides anew. @throws StoreError
   */
  interrupt(verdicts: readonly TurnVerdict[]): Promise<boolean[]>;
  /** `sending` rows of dead or gone owners → unknown, at most `limit`; how many. @throws StoreError */
  lostSends(limit: number): Promise<number>;
  /** Unknown outcomes that nobody has decided on, and held ones whose time is over. @throws StoreError */
  unknownSends(limit: number): Promise<UnknownSend[]>;
  /** Writes verdicts by compare-and-set: true where it was written. @throws StoreError */
  decideUnknown(verdicts: readonly UnknownVerdict[]): Promise<boolean[]>;
  /** Partitions whose owner is dead or gone → free. Returns their ids. */
  freePartitions(): Promise<number[]>;
  /** Queued events per tenant into tenant_load; returns the `top` busiest tenants, those with most in the queue first. */
  measureLoad(top: number): Promise<TenantLoad[]>;
  /** @throws StoreError */
  measureCluster(): Promise<ClusterLoad>;
  /** Deletes rows past retention in small batches; returns rows deleted per table. */
  deleteExpired(limits: {
    readonly settledDays: number;
    readonly dedupeDays: number;
    readonly batch: number;
  }): Promise<Readonly<Record<string, number>>>;
}

/** The session of a lane that has nothing to do, in which nobody has spoken for long. */
export interface IdleSession {
  readonly lane: LaneRef;
  readonly sessionId: SessionId;
  readonly status: SessionStatus;
  readonly lastActivityAt: Date;
  /** Names the last activity exactly. */
  readonly seen: string;
  /** On the database clock, when this was read. */
  readonly now: Date;
}

export interface AgedSession {
  readonly lane: LaneRef;
  readonly status: 'expired' | 'archived';
}

/** What age does to sessions. Safe when repeated, and beside another leader. */
export interface SessionAging {
  /** Of so many slots, taken at random: sessions whose hours are over, at most `limit`. @throws StoreError */
  idle(look: LifecycleLimits & { readonly slots: number; readonly limit: number }): Promise<IdleSession[]>;
  /** Those that are still as they were get their new status; the others are left out. @throws StoreError */
  age(changes: readonly (IdleSession & { readonly to: 'expired' | 'archived' })[]): Promise<AgedSession[]>;
}

/** A lane that is older than its tenant's days, as it was then. */
export interface AgedLane {
  readonly lane: LaneRef;
  /** Of its tenant; zero: for ever. */
  readonly maxAgeDays: number;
  readonly idleDays: number;
  readonly suspended: boolean;
  readonly activeWork: 'none' | 'running';
  readonly seen: string;
}

/** A tenant with more lanes than it may have. */
export interface CrowdedTenant {
  readonly lanesMax: number;
  /** How many it has; counted no further than a page above `lanesMax`. */
  readonly lanes: number;
  readonly oldest: readonly {
    readonly lane: LaneRef;
    readonly updatedAt: Date;
    readonly running: boolean;
    readonly seen: string;
  }[];
}

/** Conversations lose their place, not what was said in them. Safe when repeated, and beside another leader. */
export interface LaneRetention {
  /** Of so many slots, taken at random: lanes whose days are over, at most `limit`. @throws StoreError */
  aged(look: { readonly slots: number; readonly defaultDays: number; readonly limit: number }): Promise<AgedLane[]>;
  /** Each with its oldest lanes, at most `limit`. @throws StoreError */
  crowded(limit: number): Promise<CrowdedTenant[]>;
  /**
   * Those that are still as they were seen name no session any more, and are deleted where nothing of them is left; how
   * many. A lane that somebody else has locked stays. @throws StoreError
   */
  forget(lanes: readonly { readonly lane: LaneRef; readonly seen: string }[]): Promise<number>;
}

/** Deletes what tenants leave that are `deleting`, bit by bit. Safe when repeated, and beside another leader. */
export interface TenantErasure {
  /** At most `rowsMax` rows of one table; `table` is `tenants` when that was the last of it. Null: nothing to do. @throws StoreError */
  step(rowsMax: number): Promise<{ readonly tenantId: TenantId; readonly table: string; readonly rows: number } | null>;
  /**
   * Words of conversations whose deleting was left behind: at most `rowsMax` rows of each of a few. Answers how many have
   * more. @throws StoreError
   */
  conversations(rowsMax: number): Promise<number>;
}

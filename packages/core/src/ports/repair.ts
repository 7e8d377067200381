import type { BootId, LaneRef, TenantId, TurnId } from '../ids.ts';

export interface InterruptedTurn {
  readonly lane: LaneRef;
  readonly turnId: TurnId;
  readonly outcome: 'resume' | 'suspended';
  /** Since the owner's last heartbeat. */
  readonly lostForMs: number;
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
  /** Interrupts running turns whose owner is dead or gone, at most `limit`: one resume each, or the third strike. */
  interruptLost(limit: number): Promise<InterruptedTurn[]>;
  /** `sending` rows of dead or gone owners → unknown; unknown rows that are owed their one resend → pending, recovered. */
  repairDeliveries(limit: number): Promise<{ readonly unknown: number; readonly resent: readonly LaneRef[] }>;
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

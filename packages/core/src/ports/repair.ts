import type { BootId, LaneRef, TurnId } from '../ids.ts';

export interface InterruptedTurn {
  readonly lane: LaneRef;
  readonly turnId: TurnId;
  readonly outcome: 'resume' | 'suspended';
  /** Since the owner's last heartbeat. */
  readonly lostForMs: number;
}

/** What only the coordinator's leader does. Each call is safe to repeat and safe with two leaders at once. */
export interface RepairStore {
  /** Takes or renews the lease `name`, compare-and-set on the database clock; true when held by me. */
  lead(name: string, holder: BootId, leaseMs: number): Promise<boolean>;
  resign(name: string, holder: BootId): Promise<void>;
  /** The database clock (milliseconds since 1970), to see jumps against the monotonic clock. */
  databaseNowMs(): Promise<number>;
  /** Processes whose lease is over, made dead by compare-and-set. Call only after a whole lease of healthy own writes. */
  declareDead(leaseMs: number): Promise<BootId[]>;
  /** Interrupts running turns whose owner is dead or gone, at most `limit`: one resume each, or the third strike. */
  interruptLost(limit: number): Promise<InterruptedTurn[]>;
  /** `sending` rows of dead or gone owners → unknown; unknown rows that are owed their one resend → pending, recovered. */
  repairDeliveries(limit: number): Promise<{ readonly unknown: number; readonly resent: readonly LaneRef[] }>;
  /** Partitions whose owner is dead or gone → free. Returns their ids. */
  freePartitions(): Promise<number[]>;
  /** Queued events per tenant into tenant_load. */
  measureLoad(): Promise<void>;
  /** Deletes rows past retention in small batches; returns rows deleted per table. */
  deleteExpired(limits: {
    readonly settledDays: number;
    readonly dedupeDays: number;
    readonly batch: number;
  }): Promise<Readonly<Record<string, number>>>;
}

import type { BootId } from '../ids.ts';
import type { WorkerStatus } from '../states.ts';

export interface WorkerRow {
  readonly bootId: BootId;
  readonly state: WorkerStatus;
  readonly turnSlots: number;
  /** Since the last heartbeat, on the database clock. */
  readonly silentMs: number;
}

export interface PartitionRow {
  readonly id: number;
  readonly owner: BootId | null;
  /** Null when free. */
  readonly ownerState: WorkerStatus | null;
  readonly epoch: string;
}

/** Leases of processes and partitions. All times are the database's clock_timestamp(). */
export interface OwnershipStore {
  register(row: {
    readonly bootId: BootId;
    readonly kind: 'session-worker' | 'coordinator' | 'ingress';
    readonly name: string;
    readonly pid: number;
    readonly version: string;
    readonly turnSlots: number;
  }): Promise<void>;
  /** False: no live row of mine any more; the process must abort everything, send nothing, and exit. @throws StoreError */
  heartbeat(bootId: BootId): Promise<boolean>;
  /** live → leaving. */
  leave(bootId: BootId): Promise<void>;
  /** live or leaving → gone. Final. Frees what it still owned. */
  gone(bootId: BootId): Promise<void>;
  /** Live and leaving session-workers, and every partition, in one snapshot. */
  view(): Promise<{ readonly workers: readonly WorkerRow[]; readonly partitions: readonly PartitionRow[] }>;
  /** Compare-and-set on free, or owner dead or gone; only a live worker gets any. Returns what it now owns of these. */
  acquire(bootId: BootId, partitions: readonly number[]): Promise<number[]>;
  /** Owner me → free. The consumer is closed before. */
  release(bootId: BootId, partitions: readonly number[]): Promise<void>;
  /** slot → partition, 4096 entries. */
  slotMap(): Promise<Int16Array>;
}

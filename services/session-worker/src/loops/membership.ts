import {
  AppError,
  type BootId,
  type Clock,
  type LaneOwnership,
  type Lease,
  type Logger,
  type OwnershipStore,
  PartitionPlanner,
} from '@turnkeeper/core';

export interface MembershipOptions {
  readonly bootId: BootId;
  readonly ownership: OwnershipStore;
  readonly lease: Lease;
  readonly consumers: PartitionConsumers;
  /** Waiting lanes of a partition that is not this worker's any more. */
  readonly giveAway: (partition: number) => void;
  /** There is no live row of this worker: it must end at once. */
  readonly onDead: (error: AppError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The ways in which wake-ups of a partition arrive. */
export interface PartitionConsumers {
  open(partition: number): void;
  /** Resolves when nothing more arrives. */
  close(partition: number): Promise<void>;
}

const GONE_MAX = 1_000;

/**
 * This worker's place in the cluster: its heartbeat, and with every beat the partitions that it should have
 * (protocol: heartbeat, own, leave).
 *
 * ```
 *  a partition:  free ─acquire─► owned: its consumer is opened, its lanes are scanned
 *                owned ─another live worker should have it, or this one leaves─► consumer closed ─► released
 *                      ─► lanes that wait are told to the next owner; those at work go on and are told at their end
 * ```
 * A heartbeat that finds no live row is the end: whatever runs here has been, or will be, taken over.
 */
export class Membership implements LaneOwnership {
  readonly #options: MembershipOptions;
  readonly #planner: PartitionPlanner;
  readonly #owned = new Set<number>();
  readonly #seen = new Set<BootId>();
  readonly #gone = new Set<BootId>();
  #slotMap = new Int16Array();
  #leaving = false;
  #ended = false;
  #liveWorkers = 1;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#planner = new PartitionPlanner(options.bootId);
  }

  get owned(): readonly number[] {
    return [...this.#owned];
  }

  get liveWorkers(): number {
    return this.#liveWorkers;
  }

  owns(partition: number): boolean {
    return this.#owned.has(partition);
  }

  mayClaim(partition: number): boolean {
    return !this.#leaving && this.#owned.has(partition);
  }

  partitionOf(slot: number): number {
    return this.#slotMap[slot] ?? 0;
  }

  goneBoots(): ReadonlySet<BootId> {
    return this.#gone;
  }

  /** A worker said that it is gone, before the view does. */
  saidGoodbye(bootId: BootId): void {
    this.#addGone(bootId);
  }

  /** @throws StoreError */
  async refreshSlotMap(): Promise<void> {
    this.#slotMap = new Int16Array(await this.#options.ownership.slotMap());
  }

  /** For every half second. @throws StoreError */
  async beat(): Promise<void> {
    const { bootId, ownership, lease, clock, onDead } = this.#options;
    const sentMs = clock.monotonicMs();
    if (this.#ended) return;
    if (await ownership.heartbeat(bootId)) return lease.renewed(sentMs);
    if (this.#ended) return;
    onDead(
      new AppError({
        code: 'internal',
        message: 'this worker was declared dead, or its row is gone; it ends, to be started again under a new boot id',
      }),
    );
  }

  /** Takes and gives partitions as the present view of the cluster asks. For every half second. @throws StoreError */
  async settlePartitions(): Promise<void> {
    const { ownership, bootId, clock } = this.#options;
    const view = await ownership.view();
    this.#note(view.workers.map((worker) => worker.bootId));
    this.#liveWorkers = view.workers.filter(({ state }) => state === 'live').length;
    const inStore = new Set(view.partitions.filter(({ owner }) => owner === bootId).map(({ id }) => id));
    const lost = this.owned.filter((id) => !inStore.has(id));
    for (const id of lost) await this.#giveUp(id);
    // an acquire that was answered after this worker began to leave: nobody else may take it before it is given back
    if (this.#leaving) return this.#handOver([...inStore].filter((id) => !this.#owned.has(id)));
    for (const id of inStore) this.#takeUp(id);
    const { acquire, handOver } = this.#planner.plan(view, clock.monotonicMs());
    await this.#handOver(handOver);
    if (acquire.length > 0) for (const id of await ownership.acquire(bootId, acquire)) this.#takeUp(id);
  }

  /** Gives every partition to others and takes no more. @throws StoreError */
  async leave(): Promise<void> {
    // first: a wake-up that still came in would be passed on, to this very worker
    await this.close();
    await this.#options.ownership.leave(this.#options.bootId);
    await this.#handOver(this.owned);
  }

  /** Nothing of this worker is left: its row says so from here on. @throws StoreError */
  async gone(): Promise<void> {
    this.#ended = true;
    await this.#options.ownership.gone(this.#options.bootId);
  }

  /** Closes what is open; the store's rows are left as they are. */
  async close(): Promise<void> {
    this.#leaving = true;
    await Promise.all(this.owned.map((id) => this.#options.consumers.close(id)));
  }

  async #handOver(partitions: readonly number[]): Promise<void> {
    const { ownership, bootId, logger, giveAway, consumers } = this.#options;
    if (partitions.length === 0) return;
    await Promise.all(partitions.map((id) => consumers.close(id)));
    for (const id of partitions) this.#owned.delete(id);
    try {
      await ownership.release(bootId, partitions);
    } finally {
      for (const id of partitions) giveAway(id);
    }
    logger.info({ partitions: partitions.join(' ') }, 'gave partitions to others');
  }

  /** Another one owns it by now. */
  async #giveUp(partition: number): Promise<void> {
    this.#owned.delete(partition);
    await this.#options.consumers.close(partition);
    this.#options.giveAway(partition);
    this.#options.logger.warn({ partition }, 'a partition was taken over by another worker');
  }

  #takeUp(partition: number): void {
    if (this.#leaving || this.#owned.has(partition)) return;
    this.#owned.add(partition);
    this.#options.consumers.open(partition);
    this.#options.logger.info({ partition }, 'took a partition');
  }

  /** Who was seen before and is not any more is dead or gone: both are final. */
  #note(present: readonly BootId[]): void {
    const now = new Set(present);
    for (const bootId of this.#seen) {
      if (now.has(bootId)) continue;
      this.#seen.delete(bootId);
      this.#addGone(bootId);
    }
    for (const bootId of present) this.#seen.add(bootId);
  }

  #addGone(bootId: BootId): void {
    this.#gone.add(bootId);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= GONE_MAX) return;
      this.#gone.delete(oldest);
    }
  }
}

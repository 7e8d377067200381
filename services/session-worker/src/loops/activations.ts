import type { PartitionHints } from '@turnkeeper/bus';
import type { LaneRef, LaneRunner, LaneStore, Scheduler, WakeUp } from '@turnkeeper/core';
import type { ActivationConsumer, ActivationConsumers } from '@turnkeeper/queue';
import type { PartitionConsumers } from './membership.ts';

export interface ActivationsOptions {
  readonly hints: Pick<PartitionHints, 'listen'>;
  readonly jobs: Pick<ActivationConsumers, 'consume'>;
  readonly store: Pick<LaneStore, 'scan'>;
  readonly scheduler: Scheduler;
  readonly runner: Pick<LaneRunner, 'receive'>;
  /** Lanes that one scan of a partition may bring. */
  readonly scanMax: number;
  /** A partition was opened: there may be deliveries, too. */
  readonly onOpen: () => void;
  /** Something was done to a lane from outside, and no event names it: it may owe a delivery, too. */
  readonly onNudge: (lane: LaneRef) => void;
}

interface OpenPartition {
  readonly stopHints: () => void;
  readonly jobs: ActivationConsumer;
}

/**
 * How wake-ups reach the scheduler: hints and jobs of the partitions that are open, and the scan that finds what both
 * lost (protocol: receive, own).
 */
export class Activations implements PartitionConsumers {
  readonly #options: ActivationsOptions;
  readonly #open = new Map<number, OpenPartition>();
  /** Opened, or asked for by a wake-up, and not scanned since. */
  readonly #due = new Set<number>();

  constructor(options: ActivationsOptions) {
    this.#options = options;
  }

  open(partition: number): void {
    if (this.#open.has(partition)) return;
    const onWakeUps = (wakeUps: readonly WakeUp[] | 'scan') => this.#receive(partition, wakeUps);
    this.#open.set(partition, {
      stopHints: this.#options.hints.listen({ partition, onWakeUps }),
      jobs: this.#options.jobs.consume({ partition, onWakeUps }),
    });
    this.#due.add(partition);
    this.#options.onOpen();
  }

  async close(partition: number): Promise<void> {
    const open = this.#open.get(partition);
    this.#open.delete(partition);
    this.#due.delete(partition);
    open?.stopHints();
    await open?.jobs.close();
  }

  /** Brings what the scheduler lacks: of the partitions that are due, or of all. @throws StoreError */
  async scan(which: 'due' | 'all'): Promise<void> {
    const partitions = which === 'all' ? [...this.#open.keys()] : [...this.#due];
    for (const partition of partitions) {
      this.#due.delete(partition);
      await this.#scan(partition);
    }
  }

  async #scan(partition: number): Promise<void> {
    const { store, scheduler, runner, scanMax } = this.#options;
    const ready = await store.scan([partition], scanMax);
    const unknown = ready.filter(({ laneId }) => !scheduler.has(laneId));
    if (unknown.length === 0 || !this.#open.has(partition)) return;
    const wakeUps = unknown.map(({ slot, tenantId, laneId }) => ({ lane: { slot, tenantId, laneId }, ord: null }));
    runner.receive(partition, wakeUps);
  }

  #receive(partition: number, wakeUps: readonly WakeUp[] | 'scan'): void {
    if (wakeUps === 'scan') {
      this.#due.add(partition);
      return;
    }
    for (const { lane, ord } of wakeUps) if (ord === null) this.#options.onNudge(lane);
    this.#options.runner.receive(partition, wakeUps);
  }
}

import type { Clock } from '../clock.ts';
import type { PartitionRow } from '../ports/ownership.ts';

/** Since when partitions have had no owner that is live or leaving, as far as this process has seen. */
export class OwnerlessPartitions {
  readonly #clock: Clock;
  #sinceMs = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes note of a view; answers for how long the one longest without owner has been so, 0 when all have one. */
  seen(partitions: readonly PartitionRow[]): number {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = new Map<number, number>();
    for (const { id, ownerState } of partitions) {
      if (ownerState !== 'live' && ownerState !== 'leaving') sinceMs.set(id, this.#sinceMs.get(id) ?? nowMs);
    }
    this.#sinceMs = sinceMs;
    return nowMs - Math.min(nowMs, ...sinceMs.values());
  }
}

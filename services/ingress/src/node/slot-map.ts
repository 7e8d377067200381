import type { OwnershipStore } from '@turnkeeper/core';

/** Which partition a slot belongs to: a small map that may change while the cluster runs. */
export class SlotMap {
  readonly #store: Pick<OwnershipStore, 'slotMap'>;
  #partitions: Int16Array = new Int16Array(0);

  constructor(store: Pick<OwnershipStore, 'slotMap'>) {
    this.#store = store;
  }

  /** @throws StoreError */
  async refresh(): Promise<void> {
    this.#partitions = await this.#store.slotMap();
  }

  /** A map that is a little old only sends a wake-up to the wrong partition, whose owner passes it on. */
  partitionOf(slot: number): number {
    return this.#partitions[slot] ?? 0;
  }
}

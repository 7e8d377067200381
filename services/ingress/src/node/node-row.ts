import type { BootId, Ids, Logger, OwnershipStore } from '@turnkeeper/core';

export interface NodeRowOptions {
  readonly store: Pick<OwnershipStore, 'register' | 'heartbeat' | 'leave' | 'gone'>;
  readonly bootId: BootId;
  readonly name: string;
  readonly pid: number;
  readonly version: string;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Told with every beat whether the store answered. */
  readonly storeIsUp: (isUp: boolean) => void;
}

/**
 * This ingress in the list of processes, for people to see. It owns nothing, so nothing depends on the row: one that was
 * declared dead (a long pause, a long outage) is left to history and a new one is begun.
 */
export class NodeRow {
  readonly #options: NodeRowOptions;
  #bootId: BootId;
  #isRegistered = false;

  constructor(options: NodeRowOptions) {
    this.#options = options;
    this.#bootId = options.bootId;
  }

  /** @throws StoreError */
  async beat(): Promise<void> {
    try {
      await this.#beat();
      this.#options.storeIsUp(true);
    } catch (error) {
      this.#options.storeIsUp(false);
      throw error;
    }
  }

  async #beat(): Promise<void> {
    const { store, ids, logger } = this.#options;
    if (this.#isRegistered) {
      if (await store.heartbeat(this.#bootId)) return;
      logger.warn({}, 'this node was declared dead; it goes on under a new row');
      this.#bootId = ids.next() as BootId;
      this.#isRegistered = false;
    }
    const { name, pid, version } = this.#options;
    await store.register({ bootId: this.#bootId, kind: 'ingress', name, pid, version, turnSlots: 0 });
    this.#isRegistered = true;
  }

  /** @throws StoreError */
  async leave(): Promise<void> {
    if (this.#isRegistered) await this.#options.store.leave(this.#bootId);
  }

  /** @throws StoreError */
  async gone(): Promise<void> {
    if (this.#isRegistered) await this.#options.store.gone(this.#bootId);
  }
}

import type { ClusterReads } from '@turnkeeper/core';

const COUNTED_MAX = 200;

/** How many ingress nodes there are: they share a tenant's rate among themselves while Redis is away. */
export class IngressCount {
  readonly #cluster: Pick<ClusterReads, 'workers'>;
  #count = 1;

  constructor(cluster: Pick<ClusterReads, 'workers'>) {
    this.#cluster = cluster;
  }

  /** At least 1. */
  get count(): number {
    return this.#count;
  }

  /** @throws StoreError */
  async refresh(): Promise<void> {
    const { rows } = await this.#cluster.workers({ kind: 'ingress', state: 'open', limit: COUNTED_MAX });
    this.#count = Math.max(1, rows.length);
  }
}

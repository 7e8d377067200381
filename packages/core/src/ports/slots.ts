import type { BootId, TenantId } from '../ids.ts';

/**
 * Turn slots over the whole cluster. Each worker tells what it uses every 500 ms and reads what all others use, so the
 * sum of a tenant may pass its limit for about that long: approximate on purpose, the limit shares, it does not fence.
 */
export interface TenantSlots {
  /**
   * Replaces what this boot id uses (tenants left out use nothing) and answers, for every tenant that others use slots
   * of, how many. Workers that have not exchanged for 3 s count as gone. `away`: Redis does not answer, share the limit
   * by the number of live workers. Never throws; answers within a second.
   */
  exchange(
    bootId: BootId,
    usedByTenant: ReadonlyMap<TenantId, number>,
  ): Promise<ReadonlyMap<TenantId, number> | 'away'>;
}

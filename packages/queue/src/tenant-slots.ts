import type { BootId, TenantId, TenantSlots } from '@turnkeeper/core';
import { slotKeys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { Script } from './script.ts';

/** As long as a worker's lease: what a killed worker used is free again when its turns are taken over. */
const SILENT_MS = 3000;

/** Turn slots in Redis: one hash of totals, and per worker what it last told. Costs one script per exchange. */
export class RedisTenantSlots implements TenantSlots {
  readonly #link: RedisLink;
  readonly #silentMs: number;
  readonly #script = new Script('exchange-slots');

  constructor(options: { readonly link: RedisLink; readonly silentMs?: number }) {
    this.#link = options.link;
    this.#silentMs = options.silentMs ?? SILENT_MS;
  }

  async exchange(
    bootId: BootId,
    usedByTenant: ReadonlyMap<TenantId, number>,
  ): Promise<ReadonlyMap<TenantId, number> | 'away'> {
    const keys = slotKeys(this.#link.keyPrefix, bootId);
    const args = [bootId, this.#silentMs, keys.usedOf, ...[...usedByTenant].filter(([, used]) => used > 0).flat()];
    const totals = await this.#link.run((client) =>
      this.#script.run(client, [keys.total, keys.beats, keys.used], args),
    );
    return Array.isArray(totals) ? othersOf(totals, usedByTenant) : 'away';
  }
}

/** The flat list of totals, less what I use. */
function othersOf(totals: readonly unknown[], mine: ReadonlyMap<TenantId, number>): Map<TenantId, number> {
  const others = new Map<TenantId, number>();
  for (let i = 0; i < totals.length; i += 2) {
    const tenantId = String(totals[i]) as TenantId;
    const used = Number(totals[i + 1]) - (mine.get(tenantId) ?? 0);
    if (used > 0) others.set(tenantId, used);
  }
  return others;
}

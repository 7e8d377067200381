import type { Clock } from '../clock.ts';
import type { TenantId } from '../ids.ts';
import type { Logger } from '../ports/runtime.ts';

export interface TenantCapsOptions {
  /** Turn slots of a tenant over the whole cluster, 0 while it is suspended; null when there is no such tenant. @throws StoreError */
  readonly turnSlotsOf: (tenantId: TenantId) => Promise<number | null>;
  /** A tenant that was not known here may take slots now. */
  readonly onKnown: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of a tenant that is none: the default of surface §6. */
const SLOTS_DEFAULT = 100;
/** A first reading that failed is repeated after this long, when somebody asks. */
const AGAIN_MS = 500;
/** A tenant that nobody asked about for so long is forgotten. */
const IDLE_MS = 60_000;

interface Tenant {
  /** Null until it was read once: who knows whether the tenant is suspended. */
  slots: number | null;
  askedMs: number;
  readMs: number;
  isReading: boolean;
}

/**
 * What each tenant may use on this worker of its turn slots in the cluster: its limit less what the others use; while
 * Redis is away an equal share. Never less than one, so that no tenant's lane waits for ever; but none while it is
 * suspended, or its limit was not read yet.
 */
export class TenantCaps {
  readonly #options: TenantCapsOptions;
  readonly #tenants = new Map<TenantId, Tenant>();
  #others: ReadonlyMap<TenantId, number> | 'away' = new Map();
  #liveWorkers = 1;

  constructor(options: TenantCapsOptions) {
    this.#options = options;
  }

  capOf(tenantId: TenantId): number {
    const { slots } = this.#asked(tenantId);
    if (slots === null || slots === 0) return 0;
    if (this.#others === 'away') return Math.max(1, Math.floor(slots / this.#liveWorkers));
    return Math.max(1, slots - (this.#others.get(tenantId) ?? 0));
  }

  /** What the other workers said that they use, or that nobody can be asked. */
  exchanged(others: ReadonlyMap<TenantId, number> | 'away', liveWorkers: number): void {
    this.#others = others;
    this.#liveWorkers = Math.max(1, liveWorkers);
  }

  /** Reads the limits again. For every few seconds. Never rejects. */
  async refresh(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [tenantId, { askedMs }] of this.#tenants) {
      if (nowMs - askedMs > IDLE_MS) this.#tenants.delete(tenantId);
    }
    await Promise.all([...this.#tenants].map(([tenantId, tenant]) => this.#read(tenantId, tenant)));
  }

  #asked(tenantId: TenantId): Tenant {
    const nowMs = this.#options.clock.monotonicMs();
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = { slots: null, askedMs: nowMs, readMs: Number.NEGATIVE_INFINITY, isReading: false };
      this.#tenants.set(tenantId, tenant);
    }
    tenant.askedMs = nowMs;
    if (tenant.slots === null && !tenant.isReading && nowMs - tenant.readMs >= AGAIN_MS)
      void this.#read(tenantId, tenant);
    return tenant;
  }

  async #read(tenantId: TenantId, tenant: Tenant): Promise<void> {
    const isNew = tenant.slots === null;
    tenant.isReading = true;
    try {
      tenant.slots = (await this.#options.turnSlotsOf(tenantId)) ?? SLOTS_DEFAULT;
    } catch (error) {
      this.#options.log.failed(error, { tenantId }, 'a tenant’s limits could not be read; the last ones hold');
    }
    tenant.isReading = false;
    tenant.readMs = this.#options.clock.monotonicMs();
    if (isNew && tenant.slots !== null) this.#options.onKnown();
  }
}

import type { TenantId } from '../ids.ts';
import type { QueuedCount } from '../ports/intake.ts';

/** Measurements older than this are no measure: the caps of lanes alone hold then. */
const MEASURE_AGE_MS_MAX = 10_000;

/**
 * How many events of a tenant wait, about: what the leader measured, and what this ingress accepted since. Cheap and
 * approximate on purpose: it bounds a tenant's queue, it does not count it.
 */
export class QueuedEstimate {
  #measured: ReadonlyMap<TenantId, QueuedCount> = new Map();
  #since = new Map<TenantId, number>();

  /** An event of this tenant was accepted here. */
  add(tenantId: TenantId): void {
    this.#since.set(tenantId, (this.#since.get(tenantId) ?? 0) + 1);
  }

  of(tenantId: TenantId): number {
    const measured = this.#measured.get(tenantId);
    if (measured === undefined) return 0;
    return measured.queued + (this.#since.get(tenantId) ?? 0);
  }

  /**
   * Takes a reading of the leader's table, made every second or so. What was accepted before the last measurement
   * counts no more; without a fresh measurement nothing counts, so that a missing leader refuses nobody.
   */
  update(readings: ReadonlyMap<TenantId, QueuedCount>): void {
    const fresh = new Map<TenantId, QueuedCount>();
    const since = new Map<TenantId, number>();
    for (const [tenantId, reading] of readings) {
      if (reading.ageMs > MEASURE_AGE_MS_MAX) continue;
      fresh.set(tenantId, reading);
      const accepted = this.#since.get(tenantId);
      const isNew = this.#measured.get(tenantId)?.measuredAtMs !== reading.measuredAtMs;
      if (accepted !== undefined && !isNew) since.set(tenantId, accepted);
    }
    this.#measured = fresh;
    this.#since = since;
  }
}

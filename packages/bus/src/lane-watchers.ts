import type { Clock, LaneId, LaneRef, TenantId } from '@turnkeeper/core';
import { readWatch, type Watch } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { watchSubject } from './subjects.ts';

/** A reader says that it listens when it begins and every `WATCH_EVERY_MS`; three times missed, and it is gone. */
export const WATCH_EVERY_MS = 3_000;
const KEPT_MS = 3 * WATCH_EVERY_MS + 1_000;
const WATCHED_MAX = 100_000;

/**
 * Which lanes anybody listens to, alone or with all of their tenant, as the readers have told, so that a worker does not publish to nobody. A reader that
 * subscribes before it wakes a lane is known before the wake-up arrives: both take one connection, in order.
 */
export class LaneWatchers {
  readonly #clock: Clock;
  readonly #expiresMs = new Map<LaneId | TenantId, number>();

  constructor(options: { readonly link: BusLink; readonly clock: Clock }) {
    this.#clock = options.clock;
    options.link.subscribe(watchSubject(options.link.prefix), (text) => this.#heard(readWatch(text)));
  }

  isWatched({ laneId, tenantId }: Pick<LaneRef, 'laneId' | 'tenantId'>): boolean {
    const nowMs = this.#clock.monotonicMs();
    return (this.#expiresMs.get(laneId) ?? 0) > nowMs || (this.#expiresMs.get(tenantId) ?? 0) > nowMs;
  }

  #heard(watch: Watch | null): void {
    if (watch === null) return;
    const nowMs = this.#clock.monotonicMs();
    for (const id of [...watch.lanes, ...watch.tenants]) this.#expiresMs.set(id, nowMs + KEPT_MS);
    if (this.#expiresMs.size <= WATCHED_MAX) return;
    for (const [id, expiresMs] of this.#expiresMs) if (expiresMs <= nowMs) this.#expiresMs.delete(id);
    if (this.#expiresMs.size > WATCHED_MAX) this.#expiresMs.clear();
  }
}

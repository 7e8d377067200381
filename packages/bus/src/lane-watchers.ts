import type { Clock, LaneId } from '@turnkeeper/core';
import { readWatch } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { watchSubject } from './subjects.ts';

/** A reader says that it listens when it begins and every `WATCH_EVERY_MS`; three times missed, and it is gone. */
export const WATCH_EVERY_MS = 3_000;
const KEPT_MS = 3 * WATCH_EVERY_MS + 1_000;
const LANES_MAX = 100_000;

/**
 * Which lanes anybody listens to, as their readers have told, so that a worker does not publish to nobody. A reader that
 * subscribes before it wakes a lane is known before the wake-up arrives: both take one connection, in order.
 */
export class LaneWatchers {
  readonly #clock: Clock;
  readonly #expiresMs = new Map<LaneId, number>();

  constructor(options: { readonly link: BusLink; readonly clock: Clock }) {
    this.#clock = options.clock;
    options.link.subscribe(watchSubject(options.link.prefix), (text) => this.#heard(readWatch(text) ?? []));
  }

  isWatched(laneId: LaneId): boolean {
    const expiresMs = this.#expiresMs.get(laneId);
    return expiresMs !== undefined && expiresMs > this.#clock.monotonicMs();
  }

  #heard(lanes: readonly LaneId[]): void {
    const nowMs = this.#clock.monotonicMs();
    for (const laneId of lanes) this.#expiresMs.set(laneId, nowMs + KEPT_MS);
    if (this.#expiresMs.size <= LANES_MAX) return;
    for (const [laneId, expiresMs] of this.#expiresMs) if (expiresMs <= nowMs) this.#expiresMs.delete(laneId);
    if (this.#expiresMs.size > LANES_MAX) this.#expiresMs.clear();
  }
}

import type { Clock } from '../../clock.ts';
import type { BootId, LaneId, LaneRef } from '../../ids.ts';
import type { LaneLocks, LockAnswer } from '../../ports/signals.ts';
import type { Interleaver } from './interleaver.ts';

const LOCK_MS = 3000;

/** Lane locks with a time to live; a request whose outcome is lost answers `away`, as the adapter does. */
export class MemoryLocks implements LaneLocks {
  readonly #held = new Map<LaneId, { readonly by: BootId; readonly untilMs: number }>();
  readonly #steps: Interleaver;
  readonly #clock: Clock;

  constructor(steps: Interleaver, clock: Clock) {
    this.#steps = steps;
    this.#clock = clock;
  }

  flush(): void {
    this.#held.clear();
  }

  async take(bootId: BootId, lanes: readonly LaneRef[], gone?: ReadonlySet<BootId>): Promise<LockAnswer[]> {
    try {
      return await this.#steps.request(bootId, () => lanes.map(({ laneId }) => this.#take(bootId, laneId, gone)));
    } catch {
      // the adapter's answer for whatever Redis did not say
      return lanes.map(() => ({ held: 'away' }));
    }
  }

  renew(bootId: BootId, lanes: readonly LaneRef[]): Promise<LockAnswer[]> {
    return this.take(bootId, lanes);
  }

  async release(bootId: BootId, lanes: readonly LaneRef[]): Promise<boolean> {
    await this.#steps.step(bootId);
    for (const { laneId } of lanes) if (this.#held.get(laneId)?.by === bootId) this.#held.delete(laneId);
    await this.#steps.step(bootId);
    return true;
  }

  #take(bootId: BootId, laneId: LaneId, gone?: ReadonlySet<BootId>): LockAnswer {
    const nowMs = this.#clock.monotonicMs();
    const held = this.#held.get(laneId);
    if (held !== undefined && held.by !== bootId && held.untilMs > nowMs && !gone?.has(held.by)) {
      return { held: 'other', by: held.by };
    }
    this.#held.set(laneId, { by: bootId, untilMs: nowMs + LOCK_MS });
    return { held: 'mine' };
  }
}

import type { LaneId, WakeUp } from '@turnkeeper/core';

/**
 * The lanes of one partition that wait to be named in the next activation: each once, with the highest event that
 * anyone told. Above `lanesMax` it keeps only "there are many" (`scan`), so that a flood costs no memory.
 */
export class WakeUpSet {
  readonly #lanesMax: number;
  readonly #wakeUps = new Map<LaneId, WakeUp>();
  #scan = false;

  constructor(lanesMax: number) {
    this.#lanesMax = lanesMax;
  }

  get isEmpty(): boolean {
    return !this.#scan && this.#wakeUps.size === 0;
  }

  add(wakeUps: readonly WakeUp[]): void {
    if (this.#scan) return;
    for (const wakeUp of wakeUps) {
      const present = this.#wakeUps.get(wakeUp.lane.laneId);
      if (present === undefined || isHigher(wakeUp.ord, present.ord)) this.#wakeUps.set(wakeUp.lane.laneId, wakeUp);
    }
    if (this.#wakeUps.size <= this.#lanesMax) return;
    this.#wakeUps.clear();
    this.#scan = true;
  }

  /** Empties the set. */
  take(): readonly WakeUp[] | 'scan' {
    const taken = this.#scan ? 'scan' : [...this.#wakeUps.values()];
    this.#scan = false;
    this.#wakeUps.clear();
    return taken;
  }
}

/** Null = look anyway: nothing is higher. Orders are digits without leading zeros, so the longer one is the greater. */
function isHigher(ord: string | null, present: string | null): boolean {
  if (present === null) return false;
  if (ord === null) return true;
  return ord.length === present.length ? ord > present : ord.length > present.length;
}

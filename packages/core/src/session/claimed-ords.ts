import type { LaneId } from '../ids.ts';

/**
 * Events that this worker has claimed of late, to tell a wake-up that comes after its work was done.
 *
 * A wake-up names the highest event of the lane that its sender stored. Accepts of one ingress commit in order, and a
 * claim takes the lowest visible event, so once that very event was claimed nothing of the same sender lies before it.
 * A lower number of another sender proves nothing (it may have become visible later): only equality counts.
 * Forgetting costs one empty claim, so memory is bounded by two generations, the older one dropped whole.
 */
export class ClaimedOrds {
  readonly #generationMax: number;
  /** By number: ords stay below 2^53, and numbers are found faster than texts. */
  #young = new Map<number, LaneId>();
  #old = new Map<number, LaneId>();

  constructor(generationMax: number) {
    this.#generationMax = generationMax;
  }

  add(laneId: LaneId, ord: string): void {
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(Number(ord), laneId);
  }

  has(laneId: LaneId, ord: string): boolean {
    const key = Number(ord);
    return this.#young.get(key) === laneId || this.#old.get(key) === laneId;
  }

  /** The event went back to its queue. */
  forget(ord: string): void {
    this.#young.delete(Number(ord));
    this.#old.delete(Number(ord));
  }
}

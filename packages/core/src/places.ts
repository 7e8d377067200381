/** Who has no tenant yet, because nobody has said who he is. */
export const NOBODY = 'nobody';

/** Three quarters, as a tenant's turns on a worker. */
const SHARE = 0.75;

/**
 * What callers of a node hold for a while and there is only so much of: streams, uploads, memory. One holder, a tenant as a
 * rule, gets a share of it at most, so that whoever takes all that he can get leaves something for the others.
 */
export class Places {
  readonly #max: number;
  readonly #shareMax: number;
  readonly #byHolder = new Map<string, number>();
  #held = 0;

  constructor(max: number, share: number = SHARE) {
    this.#max = max;
    this.#shareMax = Math.ceil(max * share);
  }

  /** False: there is no room, and nothing was taken. */
  take(holder: string, amount = 1): boolean {
    const held = (this.#byHolder.get(holder) ?? 0) + amount;
    if (this.#held + amount > this.#max || held > this.#shareMax) return false;
    this.#byHolder.set(holder, held);
    this.#held += amount;
    return true;
  }

  /** What was taken, once. */
  give(holder: string, amount = 1): void {
    const left = (this.#byHolder.get(holder) ?? 0) - amount;
    if (left > 0) this.#byHolder.set(holder, left);
    else this.#byHolder.delete(holder);
    this.#held -= amount;
  }
}

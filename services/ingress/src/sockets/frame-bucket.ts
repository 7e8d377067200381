/** Frames that may come at once, for a client that sends what it kept while it was away. */
const BURST = 120;
const PER_SECOND = 30;

/** How many frames one socket may send. */
export class FrameBucket {
  #left = BURST;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** False: too many. `nowMs` never goes back. */
  take(nowMs: number): boolean {
    this.#left = Math.min(BURST, this.#left + ((nowMs - this.#atMs) / 1000) * PER_SECOND);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

import type { Clock } from '../clock.ts';

export interface DatabaseHealthLimits {
  /** The lease of the processes that are judged. */
  readonly leaseMs: number;
  /** Own writes may be this far apart; a longer pause is an outage, of the database or of this process. */
  readonly gapMs: number;
  /** The database clock may move this much against the monotonic one within a lease. */
  readonly jumpMs: number;
}

/** One own write and one reading of the database clock, made together. */
export interface HealthSample {
  /** Monotonic, before the first statement was sent. */
  readonly sentMs: number;
  /** Monotonic, when the last one was answered. */
  readonly answeredMs: number;
  /** Monotonic time at the middle of the statement that read the clock, and what it read. */
  readonly readAtMs: number;
  readonly databaseMs: number;
}

interface Reading {
  readonly answeredMs: number;
  /** Database clock minus monotonic clock. */
  readonly offsetMs: number;
}

/**
 * Whether a lease that is over means a death (protocol H9). After an outage of the database, a jump of its clock, or a
 * pause of this very process every lease may look over although everybody lives. So a death is declared only by a
 * process that has itself written to this database without a gap for one whole lease and saw its clock run evenly:
 * whoever lived had the same time to renew.
 *
 *   unknown ──(a whole lease of samples: none far apart, none failed, no jump)──► healthy
 *   healthy ──(a gap | a failed sample | a jump)──► unknown, and the lease of samples begins anew
 */
export class DatabaseHealth {
  readonly #clock: Clock;
  readonly #limits: DatabaseHealthLimits;
  /** Since the last gap, failure or jump; those that the youngest of the older than a lease makes needless are dropped. */
  #readings: Reading[] = [];

  constructor(clock: Clock, limits: DatabaseHealthLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** A sample was answered. */
  sampled(sample: HealthSample): void {
    const { leaseMs, gapMs } = this.#limits;
    const reading = { answeredMs: sample.answeredMs, offsetMs: sample.databaseMs - sample.readAtMs };
    const last = this.#readings.at(-1);
    const isLate = sample.answeredMs - (last?.answeredMs ?? sample.sentMs) > gapMs;
    if (isLate || this.#jumps(reading)) this.#readings = [];
    this.#readings.push(reading);
    const [, second] = this.#readings;
    if (second !== undefined && reading.answeredMs - second.answeredMs >= leaseMs) this.#readings.shift();
  }

  /** A sample failed: its write may not have happened. */
  failed(): void {
    this.#readings = [];
  }

  /** True when a lease that is over means a death. */
  get isProven(): boolean {
    const [first] = this.#readings;
    const last = this.#readings.at(-1);
    if (first === undefined || last === undefined) return false;
    const isFresh = this.#clock.monotonicMs() - last.answeredMs <= this.#limits.gapMs;
    return isFresh && last.answeredMs - first.answeredMs >= this.#limits.leaseMs;
  }

  /** What the database clock should say now; NaN before the first sample. */
  get expectedDatabaseMs(): number {
    return this.#clock.monotonicMs() + (this.#readings.at(-1)?.offsetMs ?? Number.NaN);
  }

  #jumps({ offsetMs }: Reading): boolean {
    return this.#readings.some((earlier) => Math.abs(offsetMs - earlier.offsetMs) > this.#limits.jumpMs);
  }
}

/** Time and randomness come in through these, so that every rule can be tested with a clock of its own. */
export interface Clock {
  /** Milliseconds since 1970, UTC. Only for showing and for ids: decisions about leases use the database clock. */
  nowMs(): number;
  /** Monotonic milliseconds; only differences mean anything. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when the signal aborts (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  /** A fresh UUIDv7. */
  next(): string;
  /** A number in [0, 1), for jitter. */
  random(): number;
}

/** What is sent, and how. */
export interface Workload {
  readonly name: string;
  readonly lanes: number;
  readonly messages: number;
  /** How long each message is handled. */
  readonly handlerMs: number;
  readonly pace:
    | { readonly kind: 'closed'; readonly outstanding: number }
    /** Each message is due at its time, whether or not those before it were answered. */
    | { readonly kind: 'open'; readonly perSecond: number }
    /** All are of one lane, and stored before the first is handled. */
    | { readonly kind: 'hot' }
    /** `backlog` messages of one lane are stored first; then `messages`, each of a lane of its own, at a steady rate. */
    | { readonly kind: 'beside'; readonly backlog: number; readonly perSecond: number };
}

/** What came of it. Milliseconds; `null` where the workload does not say. */
export interface Outcome {
  /** From the first send to the last that was handled. */
  readonly perSecond: number;
  readonly accept: Spread | null;
  /** From when a message was due to when it began to be handled; beside a hot lane: of the other lanes. */
  readonly start: Spread | null;
  /** Not begun within the run's time. */
  readonly missing: number;
  readonly duplicates: number;
  readonly outOfOrder: number;
  readonly overlapping: number;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Monotonic milliseconds, the same clock in every process of the machine. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

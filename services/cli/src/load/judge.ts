/**
 * The independent judge of a load run. It knows only what a client saw: acceptances (what the gateway promised) and
 * sends (what arrived at the reply receiver). Nothing of the gateway's own code or rows decides here.
 */

/** One message that the client sent; `acceptedAtMs` is when a 2xx arrived, null while none did. All times are one monotonic clock. */
export interface Sent {
  readonly lane: string;
  /** Monotonic milliseconds when the first byte of the first try left. */
  readonly sentAtMs: number;
  readonly acceptedAtMs: number | null;
  readonly runId: string | null;
}

/** One signed POST that the reply receiver got. */
export interface Arrival {
  readonly lane: string;
  readonly deliveryId: string;
  readonly runId: string;
  readonly turnId: string;
  readonly seq: number;
  readonly recovered: boolean;
  /** Milliseconds since 1970, the database's clock. */
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
}

export interface Verdict {
  readonly accepted: number;
  readonly answered: number;
  /** Accepted runs that nothing was ever sent for. */
  readonly lost: number;
  /** Runs with two deliveries, or one delivery again without the notice (`recovered`), or with it more than once. */
  readonly doubled: number;
  /** Messages consumed before one that was accepted before they were sent, and replies that overtook an earlier one. */
  readonly reordered: number;
  /** Pairs of turns of a lane whose times cross. */
  readonly overlapping: number;
}

/** Judges a whole run. `arrivals` must be in order of arrival. O(n log n). */
export function judge(sent: readonly Sent[], arrivals: readonly Arrival[]): Verdict {
  const runs = new Map<string, Sent>();
  for (const one of sent) if (one.runId !== null && one.acceptedAtMs !== null) runs.set(one.runId, one);
  const answeredRuns = new Set(arrivals.map((one) => one.runId));
  const firstSeq = new Map<string, number>();
  for (const one of arrivals) if (!firstSeq.has(one.runId)) firstSeq.set(one.runId, one.seq);
  let lost = 0;
  for (const runId of runs.keys()) if (!answeredRuns.has(runId)) lost++;
  let reordered = overtakingReplies(arrivals);
  for (const lane of groupBy([...runs.values()], (one) => one.lane).values())
    reordered += consumedTooEarly(lane, firstSeq);
  let overlapping = 0;
  for (const lane of groupBy(arrivals, (one) => one.lane).values()) overlapping += crossingTurns(lane);
  return {
    accepted: runs.size,
    answered: runs.size - lost,
    lost,
    doubled: doubledRuns(arrivals),
    reordered,
    overlapping,
  };
}

function doubledRuns(arrivals: readonly Arrival[]): number {
  const deliveryOf = new Map<string, string>();
  const seen = new Set<string>();
  const doubled = new Set<string>();
  for (const one of arrivals) {
    const first = deliveryOf.get(one.runId);
    if (first === undefined) deliveryOf.set(one.runId, one.deliveryId);
    else if (first !== one.deliveryId) doubled.add(one.runId);
    const kind = `${one.deliveryId} ${one.recovered}`;
    if (seen.has(one.recovered ? kind : one.deliveryId)) doubled.add(one.runId);
    seen.add(one.deliveryId).add(kind);
  }
  return doubled.size;
}

/** P3: whatever was accepted before b was sent has a lower seq than b. Concurrent ones may stand in any order. */
function consumedTooEarly(lane: readonly Sent[], seqOf: ReadonlyMap<string, number>): number {
  const known = lane.flatMap((one) => {
    const seq = one.runId === null ? undefined : seqOf.get(one.runId);
    return seq === undefined || one.acceptedAtMs === null
      ? []
      : [{ seq, sentAtMs: one.sentAtMs, acceptedAtMs: one.acceptedAtMs }];
  });
  const bySent = known.toSorted((a, b) => a.sentAtMs - b.sentAtMs);
  const byAccepted = known.toSorted((a, b) => a.acceptedAtMs - b.acceptedAtMs);
  let highest = Number.NEGATIVE_INFINITY;
  let next = 0;
  let early = 0;
  for (const one of bySent) {
    for (
      let before = byAccepted[next];
      before !== undefined && before.acceptedAtMs < one.sentAtMs;
      before = byAccepted[++next]
    ) {
      highest = Math.max(highest, before.seq);
    }
    if (highest > one.seq) early++;
  }
  return early;
}

/** First sends of a lane arrive in order of seq; the one resend of an unknown outcome is marked and may come late. */
function overtakingReplies(arrivals: readonly Arrival[]): number {
  const highest = new Map<string, number>();
  const seen = new Set<string>();
  let overtaken = 0;
  for (const one of arrivals) {
    if (seen.has(one.deliveryId)) continue;
    seen.add(one.deliveryId);
    const before = highest.get(one.lane) ?? Number.NEGATIVE_INFINITY;
    if (one.seq < before && !one.recovered) overtaken++;
    highest.set(one.lane, Math.max(before, one.seq));
  }
  return overtaken;
}

function crossingTurns(arrivals: readonly Arrival[]): number {
  const turns = [...new Map(arrivals.map((one) => [one.turnId, one])).values()];
  turns.sort((a, b) => a.startedAtMs - b.startedAtMs || a.finishedAtMs - b.finishedAtMs);
  let latestEnd = Number.NEGATIVE_INFINITY;
  let crossing = 0;
  for (const turn of turns) {
    if (turn.startedAtMs < latestEnd) crossing++;
    latestEnd = Math.max(latestEnd, turn.finishedAtMs);
  }
  return crossing;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

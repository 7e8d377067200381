const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A day that a zone left out (it moved across the date line) has its boundary after the gap: the one before is two days back. */
const DAYS_BACK_MAX = 2;

/**
 * The latest instant (milliseconds since 1970), not after `nowMs`, at which the wall clock of an IANA zone came to
 * `hour`:00 (0–23). An hour that the clock skips counts as the first instant after the gap, a doubled hour as its first
 * occurrence only. @throws RangeError for a zone that does not exist
 */
export function latestBoundary(nowMs: number, hour: number, timeZone: string): number {
  const offsetAt = offsetsOf(timeZone);
  const today = Math.floor((nowMs + offsetAt(nowMs)) / DAY_MS) * DAY_MS;
  for (let back = 0; back < DAYS_BACK_MAX; back++) {
    const instant = instantOf(today - back * DAY_MS + hour * HOUR_MS, offsetAt);
    if (instant <= nowMs) return instant;
  }
  return instantOf(today - DAYS_BACK_MAX * DAY_MS + hour * HOUR_MS, offsetAt);
}

type OffsetAt = (instantMs: number) => number;

/** `wallMs`: a wall clock reading, written as if it were UTC. */
function instantOf(wallMs: number, offsetAt: OffsetAt): number {
  const before = offsetAt(wallMs - DAY_MS);
  const after = offsetAt(wallMs + DAY_MS);
  const readings = [wallMs - before, wallMs - after].filter((instant) => instant + offsetAt(instant) === wallMs);
  if (readings.length > 0) return Math.min(...readings);
  return transition({ fromMs: wallMs - DAY_MS, toMs: wallMs + DAY_MS }, (instant) => offsetAt(instant) !== before);
}

/** The first instant, to the millisecond, at which the zone has moved. */
function transition({ fromMs, toMs }: { fromMs: number; toMs: number }, hasMoved: (ms: number) => boolean): number {
  let [before, after] = [fromMs, toMs];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (hasMoved(middle)) after = middle;
    else before = middle;
  }
  return after;
}

/** How far the zone's wall clock is ahead of UTC, milliseconds. */
function offsetsOf(timeZone: string): OffsetAt {
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    ...parts,
    second: 'numeric',
  });
  return (instantMs) => {
    const wholeSecond = Math.floor(instantMs / 1000) * 1000;
    const read = new Map(format.formatToParts(wholeSecond).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes) => read.get(type) ?? 0;
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - wholeSecond;
  };
}

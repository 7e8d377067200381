import { type Clock, FreshCache, type HttpErrorCode, MissGate, NOBODY, type TenantId } from '@turnkeeper/core';
import { SeededIds, settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { CONFIG_STALE_MS } from '@turnkeeper/storage';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../http/access.ts';
import { type OpenStream, OpenStreams, RECHECK_MS } from './open-streams.ts';

const STEP_MS = 250;

const caller = { kind: 'key', key: {}, tenant: {} } as Caller;

function openStreams(
  clock: Clock,
  faultOf: () => Promise<HttpErrorCode | null> = () => Promise.resolve(null),
  streamsMax = 1,
) {
  return new OpenStreams({
    ...{ access: { faultOf }, clock, ids: new SeededIds(), logger: silentLogger, streamsMax },
    opened: { set: () => undefined, inc: () => undefined, dec: () => undefined } as never,
  });
}

/** A stream that remembers what was done to it, and when. */
function recorded(clock: Clock) {
  const comments: number[] = [];
  const closed: { readonly reason: string; readonly reconnectAfterMs: number; readonly atMs: number }[] = [];
  const handlers: (() => void)[] = [];
  const stream: OpenStream = {
    get isOpen() {
      return closed.length === 0;
    },
    onEnd: (handler) => handlers.push(handler),
    comment: () => comments.push(clock.monotonicMs()),
    close: (reason, reconnectAfterMs) => {
      closed.push({ reason, reconnectAfterMs, atMs: clock.monotonicMs() });
      for (const handler of handlers) handler();
    },
  };
  return { stream, comments, closed };
}

/** A stream whose key is looked at through a cache of the age that configuration has, and revoked at `revokedAtMs`. */
async function endedAfter(revokedAtMs: number, readBy: (atMs: number) => boolean): Promise<number> {
  const clock = new VirtualClock();
  const fault = () =>
    Promise.resolve<HttpErrorCode | 'none'>(clock.monotonicMs() < revokedAtMs ? 'none' : 'key_revoked');
  const keys = new FreshCache<string, HttpErrorCode | 'none'>({
    ...{ clock, staleMs: CONFIG_STALE_MS, missingMs: 1000, entriesMax: 10, load: fault },
    missGate: new MissGate({ clock, runningMax: 1, waitingMax: 1, waitMs: 1000 }),
  });
  const faultOf = async () => {
    const known = await keys.get('k');
    return known === 'none' ? null : known;
  };
  const streams = openStreams(clock, faultOf);
  let closedAtMs: number | null = null;
  const stream: OpenStream = {
    isOpen: true,
    onEnd: () => undefined,
    comment: () => undefined,
    close: () => {
      closedAtMs ??= clock.monotonicMs();
    },
  };
  const end = new AbortController();
  const running = streams.run(end.signal);
  await keys.get('k');
  streams.add(stream, { kind: 'session', caller });
  while (closedAtMs === null && clock.monotonicMs() < revokedAtMs + 60_000) {
    await clock.advance(STEP_MS);
    // others use the key, too, and keep it in the cache
    if (readBy(clock.monotonicMs())) await keys.get('k');
    await settled();
  }
  end.abort();
  await running;
  return (closedAtMs ?? Number.POSITIVE_INFINITY) - revokedAtMs;
}

describe('a stream whose key is taken away', () => {
  // half a second is left of the 5 s for the read itself
  const boundMs = 4_500;
  const uses = [
    ['nobody else uses it', () => false],
    ['others use it all the time', () => true],
    ['others use it now and then', (atMs: number) => atMs % 1750 === 0],
  ] as const;
  it.for(uses)('ends within 5 s at whatever moment that is, when %s', async ([, readBy]) => {
    for (let revokedAtMs = 1; revokedAtMs < 12_000; revokedAtMs += 499) {
      expect(await endedAfter(revokedAtMs, readBy)).toBeLessThanOrEqual(boundMs + STEP_MS);
    }
  });

  it('is looked at often enough for what is known of its key to be young', () => {
    expect(CONFIG_STALE_MS + RECHECK_MS).toBeLessThanOrEqual(boundMs);
  });
});

/** Streams of a node that runs for so long, each opened `apartMs` after the one before. */
async function run(count: number, forMs: number, apartMs = 0) {
  const clock = new VirtualClock();
  const streams = openStreams(clock);
  const end = new AbortController();
  const running = streams.run(end.signal);
  const all = Array.from({ length: count }, () => recorded(clock));
  for (const { stream } of all) {
    streams.add(stream, { kind: 'socket', caller });
    await clock.advance(apartMs);
  }
  await clock.advance(forMs - clock.monotonicMs());
  end.abort();
  await running;
  return all;
}

describe('an open stream', () => {
  it('gets a comment every 15 s', async () => {
    const [one] = await run(1, 10 * 60_000);
    const comments = one?.comments ?? [];
    expect(comments.length).toBeGreaterThanOrEqual(39);
    for (const [i, atMs] of comments.entries()) {
      // keys are looked at between two comments, so each is late by one look at most, and none later for it
      const dueMs = (i + 1) * 15_000;
      expect(atMs).toBeGreaterThanOrEqual(dueMs);
      expect(atMs).toBeLessThanOrEqual(dueMs + RECHECK_MS);
    }
  });

  it('ends after 55 min, 10 % more or less, and not all of them at once', async () => {
    const ends = (await run(60, 62 * 60_000)).map(({ closed }) => closed[0]);
    for (const end of ends) {
      expect(end?.reason).toBe('lifetime');
      expect(end?.atMs).toBeGreaterThanOrEqual(0.9 * 55 * 60_000);
      expect(end?.atMs).toBeLessThanOrEqual(1.1 * 55 * 60_000 + RECHECK_MS);
      expect(end?.reconnectAfterMs).toBeLessThan(30_000);
    }
    expect(new Set(ends.map((end) => end?.atMs)).size).toBeGreaterThan(40);
    expect(spreadOf(ends.map((end) => end?.reconnectAfterMs ?? 0))).toBeGreaterThan(20_000);
  });
});

describe('a node that drains', () => {
  async function drained(count: number, stopAfterMs = 120_000) {
    const clock = new VirtualClock();
    const streams = openStreams(clock);
    const all = Array.from({ length: count }, () => recorded(clock));
    for (const { stream } of all) streams.add(stream, { kind: 'socket', caller });
    const patience = new AbortController();
    const done = streams.drain(patience.signal).then(() => clock.monotonicMs());
    await clock.advance(stopAfterMs);
    patience.abort();
    const doneMs = await done;
    return { ends: all.map(({ closed }) => closed[0]), doneMs, streams, clock };
  }

  it('sends its readers away a few at a time, to come back at moments spread over 30 s', async () => {
    const { ends, doneMs } = await drained(500);
    const perStep = Map.groupBy(ends, (end) => end?.atMs);
    expect(perStep.size).toBe(50);
    for (const [atMs = -1, together] of perStep) {
      expect(together).toHaveLength(10);
      for (const end of together) {
        expect(end?.reason).toBe('drain');
        expect(atMs + (end?.reconnectAfterMs ?? 0)).toBeLessThan(30_000);
      }
    }
    expect(doneMs).toBe(4_900);
    expect(spreadOf(ends.map((end) => (end?.atMs ?? 0) + (end?.reconnectAfterMs ?? 0)))).toBeGreaterThan(25_000);
  });

  it('has sent them all away within 30 s, however many there are', async () => {
    const { ends, doneMs } = await drained(9_000);
    expect(doneMs).toBeLessThan(30_000);
    expect(doneMs).toBeGreaterThan(25_000);
    for (const together of Map.groupBy(ends, (end) => end?.atMs).values()) expect(together.length).toBeLessThan(100);
  });

  it('waits no longer than it may', async () => {
    const { ends, doneMs } = await drained(9_000, 1_000);
    expect(doneMs).toBe(1_000);
    expect(ends.every((end) => end?.reason === 'drain')).toBe(true);
  });

  it('takes no time when nobody reads, and sends away at once who comes then', async () => {
    const { doneMs, streams, clock } = await drained(0);
    expect(doneMs).toBe(0);
    const late = recorded(clock);
    streams.add(late.stream, { kind: 'socket', caller });
    expect(late.closed).toMatchObject([{ reason: 'drain' }]);
  });
});

function spreadOf(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values);
}

describe('the places for streams', () => {
  it('are never all one tenant’s, nor theirs who have not said who they are', () => {
    const clock = new VirtualClock();
    for (const flood of ['t1' as TenantId, NOBODY] as const) {
      const streams = openStreams(clock, undefined, 8);
      const releases = Array.from({ length: 6 }, () => streams.reserve(flood));
      expect(() => streams.reserve(flood)).toThrow(expect.objectContaining({ code: 'too_many_streams' }));
      streams.reserve('t2' as TenantId);
      for (const release of [...releases, ...releases]) release();
      expect(() => streams.reserve(flood)).not.toThrow();
    }
  });
});

import { FreshCache, type HttpErrorCode, MissGate } from '@turnkeeper/core';
import { SeededIds, settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { CONFIG_STALE_MS } from '@turnkeeper/storage';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../http/access.ts';
import { type OpenStream, OpenStreams, RECHECK_MS } from './open-streams.ts';

const STEP_MS = 250;

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
  const streams = new OpenStreams({
    ...{ access: { faultOf }, clock, ids: new SeededIds(), logger: silentLogger, streamsMax: 1 },
    opened: { set: () => undefined, inc: () => undefined, dec: () => undefined } as never,
  });
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
  streams.add(stream, { kind: 'session', caller: { kind: 'key', key: {}, tenant: {} } as Caller });
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

import { describe, expect, it } from 'vitest';
import { StoreError } from '../errors.ts';
import type { BootId, MessageId, SessionId } from '../ids.ts';
import type { ClaimResult, CommitRequest, CommitResult, LaneStore } from '../ports/lane.ts';
import { SeededIds, VirtualClock } from '../testing/index.ts';
import { LaneBatches } from './lane-batches.ts';
import { type LaneEntry, Scheduler } from './scheduler.ts';
import { noHistogram, turnOf } from './turn.fixture.ts';

const unknown = () => new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
const busy = () => new StoreError({ failure: 'busy', state: '55P03', message: 'locked' });
const row = () => new StoreError({ failure: 'row', state: '22P05', message: 'bad text' });

function scene(store: Partial<LaneStore>, releasesRefused = 0) {
  let refusals = releasesRefused;
  const clock = new VirtualClock();
  const log: string[] = [];
  const batches = new LaneBatches({
    routeSession: () => Promise.reject(new Error('nothing to decide')),
    ...{ bootId: 'me' as BootId, clock, ids: new SeededIds(), goneBoots: () => new Set() },
    store: store as LaneStore,
    locks: {
      take: async (_boot, lanes) => lanes.map(() => ({ held: 'mine' })),
      renew: async () => [],
      release: async () => {
        log.push('released');
        return refusals-- <= 0;
      },
    },
    metrics: { claimBatchSize: noHistogram, commitBatchSize: noHistogram, commitSeconds: noHistogram },
  });
  const scheduler = new Scheduler({
    ...{
      clock,
      slotsMax: 1000,
      capOf: () => 1000,
      lanesMax: 1000,
      slice: { turns: 4, ms: 2000 },
      deferMs: 1000,
      lingerMs: 0,
    },
  });
  const entries = (count: number): LaneEntry[] => {
    for (let n = 0; n < count; n++) scheduler.wake(turnOf(n).lane, null);
    return scheduler.next(count);
  };
  return { clock, log, batches, entries };
}

function claimOf({ lane }: LaneEntry, n = 1) {
  return { lane, turnId: turnOf(n).fence.turnId, newSessionId: 's' as SessionId };
}

function commitOf(n: number): CommitRequest {
  const { lane, fence } = turnOf(n);
  return {
    ...{ lane, fence, status: 'ok', messageId: 'm' as MessageId, reply: { text: 'hi' }, error: null, usage: null },
    ...{ agentVersion: 1, owed: null },
  };
}

const ok: CommitResult = { result: 'ok', seq: '1', more: false, finishedAt: new Date(0), delivery: null };
const empty: ClaimResult = { result: 'empty' };

describe('the steps of many lanes', () => {
  it('that are ready at once go into one statement', async () => {
    const sizes: number[] = [];
    const { batches, entries } = scene({
      claim: async (_boot, items) => {
        sizes.push(items.length);
        return items.map(() => empty);
      },
    });
    await Promise.all(entries(50).map((entry) => batches.claim(entry, claimOf(entry), false)));
    expect(sizes).toEqual([50]);
  });

  it('clear dirty right before the question is sent, so that what comes later is seen', async () => {
    const answer = Promise.withResolvers<void>();
    const { batches, entries } = scene({
      claim: async (_boot, items) => {
        await answer.promise;
        return items.map(() => empty);
      },
    });
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    entry.dirty = true;
    const claim = batches.claim(entry, claimOf(entry), false);
    await Promise.resolve();
    expect(entry.dirty).toBe(false);
    entry.dirty = true;
    answer.resolve();
    await claim;
    expect(entry.dirty).toBe(true);
  });

  it('look only after the release was answered', async () => {
    const { batches, entries, log } = scene({
      look: async (lanes) => {
        log.push('looked');
        return lanes.map(() => false);
      },
    });
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    await batches.releaseAndLook(entry);
    expect(log).toEqual(['released', 'looked']);
  });

  it.each([
    [2, 3],
    [9, 3],
  ])('release a lock that is refused %i times %i times at most, and look then', async (refused, tries) => {
    const { batches, entries, log, clock } = scene({ look: async (lanes) => lanes.map(() => true) }, refused);
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    const work = batches.releaseAndLook(entry);
    for (let i = 0; i < 4; i++) await clock.advance(25);
    expect(await work).toBe(true);
    expect(log).toEqual(Array.from({ length: tries }, () => 'released'));
  });

  it('claim again under the same ids while the outcome is unknown, and say so in the end', async () => {
    const asked: string[] = [];
    const { batches, entries, clock } = scene({
      claim: async (_boot, items) => {
        asked.push(...items.map(({ turnId }) => turnId));
        throw unknown();
      },
    });
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    const claim = batches.claim(entry, claimOf(entry), false);
    await clock.advance(5_000);
    expect(await claim).toBe('unknown');
    expect(new Set(asked).size).toBe(1);
    expect(asked.length).toBeGreaterThan(1);
  });

  it('claim alone, with a wait, what was skipped too often', async () => {
    const waits: unknown[] = [];
    const { batches, entries } = scene({
      claim: async (_boot, items, options) => {
        waits.push([items.length, options?.wait]);
        return items.map(() => empty);
      },
    });
    await Promise.all(entries(3).map((entry) => batches.claim(entry, claimOf(entry), true)));
    expect(waits).toEqual([
      [1, true],
      [1, true],
      [1, true],
    ]);
  });

  it('repeat a commit through an outage of the store, however long', async () => {
    let isAway = true;
    const { batches, entries, clock } = scene({
      commit: async (_boot, items) => {
        if (isAway) throw unknown();
        return items.map(() => ok);
      },
    });
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    const commit = batches.commit(entry, commitOf(0));
    await clock.advance(60_000);
    isAway = false;
    await clock.advance(5_000);
    expect(await commit).toEqual(ok);
  });

  it('commit all but the lane whose row somebody holds', async () => {
    const held = turnOf(3).lane.laneId;
    const { batches, entries, clock } = scene({
      commit: async (_boot, items) => {
        if (items.some(({ lane }) => lane.laneId === held)) throw busy();
        return items.map(() => ok);
      },
    });
    const results: unknown[] = [];
    for (const [n, entry] of entries(8).entries()) {
      void batches.commit(entry, commitOf(n)).then((result) => results.push(result));
    }
    await clock.advance(20_000);
    expect(results).toHaveLength(7);
  });

  it('refuse only the row at fault', async () => {
    const guilty = turnOf(3).lane.laneId;
    const { batches, entries, clock } = scene({
      commit: async (_boot, items) => {
        if (items.some(({ lane }) => lane.laneId === guilty)) throw row();
        return items.map(() => ok);
      },
    });
    const results = Promise.all(entries(8).map((entry, n) => batches.commit(entry, commitOf(n))));
    await clock.advance(0);
    expect((await results).map((result) => (result === 'refused' ? 'refused' : 'ok'))).toEqual(
      Array.from({ length: 8 }, (_, n) => (n === 3 ? 'refused' : 'ok')),
    );
  });

  it('send nothing more when this worker has ended', async () => {
    let sent = 0;
    const { batches, entries, clock } = scene({
      commit: async () => {
        sent++;
        throw unknown();
      },
    });
    const [entry] = entries(1);
    if (entry === undefined) throw new Error('no entry');
    const commit = batches.commit(entry, commitOf(0));
    await clock.advance(100);
    const closed = batches.close();
    await clock.advance(10);
    await closed;
    const before = sent;
    await clock.advance(60_000);
    expect(await commit).toBe(null);
    expect(sent).toBe(before);
  });
});

import { expect, test } from 'vitest';
import { StoreError } from '../errors.ts';
import type { BootId } from '../ids.ts';
import type { CommitRequest, CommitResult, LaneStore } from '../ports/lane.ts';
import { SeededIds, silentLogger, VirtualClock } from '../testing/index.ts';
import { LaneBatches } from './lane-batches.ts';
import { LaneRunner } from './run-lane.ts';
import { Scheduler } from './scheduler.ts';
import { noCounter as counter, noHistogram as histogram, RecordedStream, turnOf } from './turn.fixture.ts';
import { Turns } from './turn.ts';
import { TurnStream } from './turn-stream.ts';

const bootId = '00000000-0000-7000-8000-00000000000b' as BootId;

/** A worker with one lane whose commits the store refuses as long as the test says. */
function worker(text = 'hello') {
  const [clock, ids, claimed] = [new VirtualClock(), new SeededIds(), turnOf(1)];
  const seen = { asked: 0, claims: 0, refused: 0, handedBack: 0, commits: [] as CommitRequest[] };
  const state = { refuses: true, owner: true };
  const stored: CommitResult = { result: 'ok', seq: '8', more: false, finishedAt: new Date(2_000), delivery: null };
  const store: Pick<LaneStore, 'claim' | 'commit' | 'handBack' | 'look'> = {
    claim: async (_boot, [item]) => {
      seen.claims += 1;
      return [item === undefined ? { result: 'empty' } : { ...claimed, fence: { fence: '1', turnId: item.turnId } }];
    },
    commit: async (_boot, items) => {
      seen.commits.push(...items);
      if (state.refuses) throw new StoreError({ failure: 'row', state: '23514', message: 'refused' });
      return items.map(() => stored);
    },
    handBack: async (_boot, items) => {
      seen.handedBack += items.length;
      return items.map(() => true);
    },
    look: async (lanes) => lanes.map(() => false),
  };
  const locks = { take: async () => [{ held: 'mine' as const }], release: async () => true };
  const scheduler = new Scheduler({
    ...{ clock, slotsMax: 2, capOf: () => 2, lanesMax: 10, slice: { turns: 2, ms: 2000 }, deferMs: 1000, lingerMs: 0 },
  });
  const turns = new Turns({
    ...{ clock, ids, turnMsMax: 1e9, inactiveMsMax: 1e9 },
    answer: async () => {
      seen.asked += 1;
      return { how: 'replied', reply: { text, usage: { inputTokens: 1 } } };
    },
  });
  const goneBoots = () => new Set<BootId>();
  const batchMetrics = { claimBatchSize: histogram, commitBatchSize: histogram, commitSeconds: histogram };
  const runner = new LaneRunner({
    ...{ scheduler, turns, clock, ids, log: silentLogger, wakeUps: { wake: () => undefined } },
    // only these calls are made in a turn without steps
    batches: new LaneBatches({
      routeSession: () => Promise.reject(new Error('nothing to decide')),
      ...{ bootId, store: store as LaneStore, locks: locks as never, goneBoots, clock, ids, metrics: batchMetrics },
    }),
    ownership: { goneBoots, partitionOf: () => 0, mayClaim: () => state.owner },
    stream: new TurnStream(new RecordedStream(), clock),
    replies: { owedFor: () => ({ kind: 'proven' }), committed: () => undefined },
    words: { keep: async () => undefined },
    crashPoints: { hit: () => undefined },
    metrics: {
      ...{ staleFences: counter, eventsSettled: counter, turnsTotal: counter, activations: counter },
      ...{ turnStartSeconds: histogram, turnSeconds: histogram },
      loopStops: counter,
      commitsRefused: { inc: () => (seen.refused += 1) },
    },
  });
  runner.receive(0, [{ lane: claimed.lane, ord: '1' }]);
  return { clock, runner, scheduler, seen, state };
}

test('a turn whose commit is refused ends with an error that holds nothing of it', async () => {
  const { clock, runner, seen, state } = worker();
  state.refuses = true;
  await clock.advance(0);
  const [wanted, last] = seen.commits;
  expect(wanted).toMatchObject({ status: 'ok', reply: { text: 'hello' }, usage: { inputTokens: 1 } });
  expect(last).toMatchObject({ status: 'error', error: { code: 'internal' }, reply: null, usage: null, owed: null });
  await runner.stop();
});

test('refused even so, it is not run again: the commit is repeated ever more seldom until the store takes it', async () => {
  const { clock, runner, scheduler, seen, state } = worker();
  await clock.advance(3_600_000);
  expect(seen).toMatchObject({ asked: 1, claims: 1, handedBack: 0, refused: seen.commits.length });
  // half to the whole of 30 s between two tries
  expect(seen.commits.length).toBeGreaterThan(100);
  expect(seen.commits.length).toBeLessThan(260);
  state.refuses = false;
  await clock.advance(30_000);
  expect(scheduler.size).toBe(0);
  expect(seen).toMatchObject({ asked: 1, claims: 1, handedBack: 0 });
  await runner.stop();
});

test('a worker that may no longer claim the lane gives its turn back', async () => {
  const { clock, runner, scheduler, seen, state } = worker();
  await clock.advance(60_000);
  state.owner = false;
  await clock.advance(30_000);
  expect(seen).toMatchObject({ asked: 1, handedBack: 1 });
  expect(scheduler.size).toBe(0);
  await runner.stop();
});

test('a worker that ends waits for nothing', async () => {
  const { clock, runner } = worker();
  await clock.advance(60_000);
  await runner.stop();
  await clock.advance(0);
  expect(clock.sleeping).toBe(0);
});

test('what no store can keep of a reply is replaced before it is committed', async () => {
  const { clock, runner, seen } = worker('a\u0000b\ud800');
  await clock.advance(0);
  expect(seen.commits[0]?.reply).toEqual({ text: 'a\ufffdb\ufffd' });
  await runner.stop();
});

test('a person who is answered with silence is told that there is no answer', async () => {
  const { clock, runner, seen } = worker(' [silent]');
  await clock.advance(0);
  expect(seen.commits[0]).toMatchObject({ status: 'no_reply', reply: { code: 'no_reply' }, owed: { kind: 'proven' } });
  await runner.stop();
});

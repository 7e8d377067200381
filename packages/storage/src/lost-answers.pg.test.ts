import { type AccountId, type BootId, type MessageId, repairDeliveries, type TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { PostgresDeliveryStore } from './delivery-store.ts';
import { PostgresIntakeStore } from './intake-store.ts';
import { PostgresLaneStore } from './lane-store.ts';
import { CuttingProxy } from './testing/cutting-proxy.ts';
import { claimOf, commitOf, freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let proxy: CuttingProxy;
let engine: Database;
let lanes: PostgresLaneStore;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  proxy = await CuttingProxy.open(stage.fresh.url);
  engine = openDatabase({ url: proxy.url, role: 'tk_engine', poolMax: 1, applicationName: 'cut' });
  lanes = new PostgresLaneStore(engine);
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(async () => {
  await engine.close();
  await proxy.close();
  await stage.close();
});

async function laneWith(...texts: string[]): Promise<StageLane> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  for (const text of texts) await stage.send(lane, text);
  return lane;
}

/** Calls twice: the first answer is lost after the work was done; the second call is the same one, repeated. */
async function afterALostAnswer<T>(call: () => Promise<T>): Promise<T> {
  await engine.query({ name: 'wake', text: 'select 1' }, []);
  const before = proxy.lost;
  proxy.loseNextAnswer();
  await expect(call()).rejects.toMatchObject({ failure: 'unknown', code: 'store_unavailable', retryable: true });
  expect(proxy.lost).toBe(before + 1);
  return call();
}

test('accept: what was stored is answered as accepted, once', async () => {
  const intake = new PostgresIntakeStore(engine);
  const lane = stage.lane(tenant, `lane-${names++}`);
  const items = [message(lane, 'a'), message(lane, 'b')];
  expect(await afterALostAnswer(() => intake.accept(worker, items))).toMatchObject([
    { result: 'accepted', position: 0 },
    { result: 'accepted', position: 1 },
  ]);
  expect(await stage.rows('select 1 from tk.events where lane_id = $1', [lane.laneId])).toHaveLength(2);
});

test('claim: the same turn is answered, once claimed', async () => {
  const [plain, resumed] = [await laneWith('a', 'b'), await laneWith('c')];
  const first = await stage.claim(worker, resumed);
  await stage.lanes.handBack(worker, [{ ...first, hadEffect: true, reason: 'shutdown_timeout' }]);
  const requests = [plain, resumed].map(claimOf);
  const claimed = await afterALostAnswer(() => lanes.claim(worker, requests));
  expect(claimed).toMatchObject([
    { result: 'claimed', fence: { fence: '1', turnId: requests[0]?.turnId }, events: [{ body: { text: 'a' } }] },
    { result: 'claimed', reason: 'resume', resumeOf: first.fence.turnId, events: [{ body: { text: 'c' } }] },
  ]);
});

// a signal that names the stopped turn may arrive as late as it likes: were the id given to another turn, it would end that one
test.each(['stop', 'reset'] as const)(
  'claim: the id of a turn that a %s ended is given to no other',
  async (command) => {
    const lanesOf = [await laneWith('a', 'b'), await laneWith('a', 'b')] as const;
    const interrupted = await stage.claim(worker, lanesOf[1]);
    await stage.lanes.handBack(worker, [{ ...interrupted, hadEffect: true, reason: 'shutdown_timeout' }]);
    const requests = lanesOf.map(claimOf);
    await lanes.claim(worker, requests);
    for (const lane of lanesOf) {
      await stage.control.control({ lane, sessionId: null, command, newSessionId: freshId(), dedupe: null });
      await stage.send(lane, 'c');
    }
    for (const wait of [false, true]) {
      expect(await lanes.claim(worker, requests, { wait })).toMatchObject([
        { result: 'skipped' },
        { result: 'skipped' },
      ]);
    }
    for (const lane of lanesOf)
      expect((await stage.claim(worker, lane)).events).toMatchObject([{ body: { text: 'c' } }]);
  },
);

test('append and commit: the first try counts as success, with one step and one reply', async () => {
  const lane = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const step = {
    lane,
    fence: turn.fence,
    messageId: freshId<MessageId>(),
    seq: turn.seq,
    n: 1,
    role: 'tool_call',
    body: {},
  } as const;
  expect(await afterALostAnswer(() => lanes.append([step]))).toEqual(['again']);
  const commit = commitOf(turn, { owed: { kind: 'send', accountId: freshId<AccountId>(), sendNow: true } });
  expect(await afterALostAnswer(() => lanes.commit(worker, [commit]))).toMatchObject([
    { result: 'again', delivery: 'sending' },
  ]);
  const rows = await stage.rows('select role from tk.messages where lane_id = $1 order by seq, n', [lane.laneId]);
  expect(rows).toEqual([{ role: 'tool_call' }, { role: 'assistant' }]);
});

test('hand-back: what was handed back was mine', async () => {
  const lane = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const handBack = () => lanes.handBack(worker, [{ ...turn, hadEffect: false, reason: 'local_failure' }]);
  expect(await afterALostAnswer(handBack)).toEqual([true]);
  expect((await stage.claim(worker, lane)).events[0]).toMatchObject({ body: { text: 'a' }, attempts: 1 });
});

test('a delivery whose claim was lost is not sent: it ends unknown and is sent once more, marked', async () => {
  const lane = await laneWith('a');
  const owed = { kind: 'send', accountId: freshId<AccountId>(), sendNow: false } as const;
  await stage.commit(worker, await stage.claim(worker, lane), { owed });
  const deliveries = new PostgresDeliveryStore(engine);
  const claim = () => deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });
  expect(await afterALostAnswer(claim)).toEqual([]);
  await stage.kill(worker);
  worker = await stage.worker();
  await repairDeliveries(stage.repair, 10);
  expect(await claim()).toMatchObject([{ attempt: 2, recovered: true }]);
});

test('a backend that is ended before it wrote anything leaves nothing, and the repeated call does the work', async () => {
  const lane = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const rival = await stage.root.connect();
  const commit = commitOf(turn);
  try {
    await rival.query('begin');
    await rival.query('select 1 from tk.lanes where id = $1 for update', [lane.laneId]);
    const ended = expect(stage.lanes.commit(worker, [commit])).rejects.toMatchObject({ failure: 'unknown' });
    await stage.blocked('commit');
    await stage.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    await ended;
  } finally {
    await rival.query('rollback');
    rival.release();
  }
  expect(await stage.lanes.commit(worker, [commit])).toMatchObject([{ result: 'ok' }]);
});

test('a store that does not answer is unknown within its deadline, and serves again when it is back', async () => {
  const nobody = openDatabase({
    url: 'postgres://postgres@127.0.0.1:1/x',
    role: 'tk_engine',
    poolMax: 1,
    applicationName: 'x',
  });
  await expect(new PostgresLaneStore(nobody).look([])).rejects.toMatchObject({
    failure: 'unknown',
    state: 'ECONNREFUSED',
  });
  await nobody.close();

  const full = openDatabase({ url: stage.fresh.url, role: 'tk_engine', poolMax: 1, applicationName: 'x' });
  const release = Promise.withResolvers<void>();
  const holding = full.transaction(() => release.promise);
  await expect(new PostgresLaneStore(full).look([])).rejects.toMatchObject({ failure: 'unknown' });
  release.resolve();
  // the server ended the idle transaction meanwhile, or it ended by itself
  await holding.catch(() => undefined);
  expect(await new PostgresLaneStore(full).look([])).toEqual([]);
  await full.close();
});

import type { AccountId, BootId, InputId, MessageId, SessionId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PostgresControlStore } from './control-store.ts';
import { type Database, openDatabase } from './database.ts';
import { PostgresDeliveryStore } from './delivery-store.ts';
import { PostgresInputStore } from './input-store.ts';
import { PostgresIntakeStore } from './intake-store.ts';
import { PostgresLaneStore } from './lane-store.ts';
import { ClusterStore } from './read/cluster-store.ts';
import { claimOf, commitOf, freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

const PAST = 3_000;
let stage: Stage;
let engine: Database;
let tenant: TenantId;
let worker: BootId;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  engine = openDatabase({ url: stage.fresh.url, role: 'tk_engine', poolMax: 1, applicationName: 'planned-early' });
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
  for (const table of ['events', 'messages', 'turns', 'lanes', 'dedupe_keys', 'inputs', 'lane_marks']) {
    await stage.rows(`alter table tk.${table} set (autovacuum_enabled = false)`);
  }
});
afterAll(async () => {
  await engine.close();
  await stage.close();
});

/** What `work` read: descents into indexes (skipping from value to value is one each), their entries, and rows of whole tables. */
async function entriesRead(work: () => Promise<unknown>, database: Database = engine): Promise<number> {
  const read = async () => {
    await database.query({ name: 'flush', text: 'select pg_stat_force_next_flush()' }, []);
    const text = `select (select coalesce(sum(idx_scan + idx_tup_read), 0) from pg_stat_user_indexes where schemaname = 'tk')::int
      + (select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables
         where schemaname = 'tk' and relname in ('lanes', 'events', 'messages', 'turns', 'sessions', 'dedupe_keys', 'inputs', 'lane_marks'))::int as n`;
    const [row] = await database.query<{ n: number }>({ name: 'read', text }, []);
    return row?.n ?? 0;
  };
  const before = await read();
  await work();
  return (await read()) - before;
}

// Plans are made once, on tables that may be empty then, and kept. Seen to fail without "state < 10" where an event is picked
// or a turn's events are found (the index by tenant and id looks as cheap), and with turns looked for by slot, tenant and id:
// every finished event or turn is read again by each call; with primary keys that are not the newest indexes, with "exists" in
// a select list and with flat joins of lanes: every lane, turn or key there is.
test('the past of a lane, and other lanes, cost its next message nothing, although all plans were made on empty tables', async () => {
  const lanes = new PostgresLaneStore(engine);
  const intake = new PostgresIntakeStore(engine);
  const deliveries = new PostgresDeliveryStore(engine);
  for (const store of [lanes, intake, deliveries]) await store.warmUp();

  const lane = stage.lane(tenant, 'long');
  await stage.send(lane, 'first');
  await stage.commit(worker, await stage.claim(worker, lane));
  const values = [lane.slot, lane.tenantId, lane.laneId, PAST];
  await stage.rows(
    // ids of long ago, as those of a past are: a walk by tenant and id would meet them first
    `insert into tk.events (slot, tenant_id, lane_id, id, state, body)
     select $1, $2, $3, ('00000000' || right(gen_random_uuid()::text, -8))::uuid, 10, '{}' from generate_series(1, $4)`,
    values,
  );
  await stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body, dstate)
     select $1, $2, $3, -s, 0, gen_random_uuid(), gen_random_uuid(), 1, 'assistant', '{}', 2 from generate_series(1, $4::int) s`,
    values,
  );
  await stage.rows(
    `insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, agent_id, ords, event_ids, seq, end_seq, started_at)
     select $1, $2, $3, gen_random_uuid(), 1, gen_random_uuid(), 1, gen_random_uuid(), '{}', '{}', -s, -s, now() from generate_series(1, $4::int) s`,
    values,
  );
  await stage.rows(
    `insert into tk.inputs (slot, tenant_id, id, lane_id, turn_id, kind, prompt, state, expires_at)
     select $1, $2, gen_random_uuid(), $3, gen_random_uuid(), 'question', '{}', 'answered', now() from generate_series(1, $4::int) s`,
    // of other lanes: one asks few questions
    [lane.slot, lane.tenantId, freshId(), PAST],
  );
  await stage.rows(
    `insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind)
     select $1, $2, $3, -s, 'session.updated' from generate_series(1, $4::int) s`,
    values,
  );

  await stage.rows(
    `insert into tk.lanes (slot, tenant_id, id, agent_id, key, created_at)
     select l.slot, l.tenant_id, gen_random_uuid(), l.agent_id, 'other-' || s, now() - s * interval '1 second'
     from tk.lanes l, generate_series(1, $2) s where l.id = $1`,
    [lane.laneId, PAST],
  );
  await stage.rows(
    `insert into tk.dedupe_keys (tenant_id, scope, key, body_hash, event_id, slot, lane_id)
     select $1, gen_random_uuid(), 'k' || s, '', gen_random_uuid(), $2, $3 from generate_series(1, $4) s`,
    [lane.tenantId, lane.slot, lane.laneId, PAST],
  );

  await expectSmallSteps({ lanes, intake, deliveries, control: new PostgresControlStore(engine) }, lane);
  // with statistics the plans are made anew
  await stage.rows('update tk.messages set dstate = 2 where dstate < 2');
  await stage.rows('analyze');
  await expectSmallSteps(
    { lanes, intake, deliveries, control: new PostgresControlStore(engine) },
    stage.lane(tenant, 'new'),
  );
  await stage.rows('update tk.lanes set turn_id = null');
  await expectSmallSteps({ lanes, intake, deliveries, control: new PostgresControlStore(engine) }, lane);
  // these find a lane, too, but by way of all that its tenant has
  expect(await descentsInto('lanes_created', 'lanes_key')).toBe(0);
});

test('retention reads nothing that stays, and a lane is found by its id', async () => {
  const { url } = stage.fresh;
  const [sweep, admin] = (['tk_sweep', 'tk_admin'] as const).map((role) =>
    openDatabase({ url, role, poolMax: 1, applicationName: 'planned' }),
  ) as [Database, Database];
  const lane = stage.lane(tenant, 'ended');
  await stage.send(lane, 'first');
  await stage.rows(
    `insert into tk.sessions (slot, tenant_id, lane_id, id, ended_at)
     select $1, $2, $3, gen_random_uuid(), now() - interval '20 days' from generate_series(1, $4)`,
    [lane.slot, lane.tenantId, lane.laneId, PAST],
  );
  await stage.rows('analyze');
  const deleteEnded = { name: 'ended', text: 'select tk.delete_ended_sessions(30, 8, 1000) as n' };
  try {
    expect(await entriesRead(() => sweep.query(deleteEnded, []), sweep)).toBeLessThan(60);
    await stage.rows('update tk.tenants set limits = $2 where id = $1', [tenant, { retentionDays: 15 }]);
    expect(await sweep.query(deleteEnded, [])).toEqual([{ n: '1000' }]);
    const store = new ClusterStore(admin);
    expect(await entriesRead(() => store.lane(lane.laneId), admin)).toBeLessThan(60);
    expect(await entriesRead(() => store.lane(freshId()), admin)).toBeLessThan(60);
  } finally {
    await Promise.all([sweep.close(), admin.close()]);
  }
});

async function descentsInto(...indexes: string[]): Promise<number> {
  await engine.query({ name: 'flush', text: 'select pg_stat_force_next_flush()' }, []);
  const text = 'select sum(idx_scan)::int as n from pg_stat_user_indexes where indexrelname = any ($1)';
  const [row] = await stage.rows<{ n: number }>(text, [indexes]);
  return row?.n ?? -1;
}

interface Stores {
  readonly lanes: PostgresLaneStore;
  readonly intake: PostgresIntakeStore;
  readonly deliveries: PostgresDeliveryStore;
  readonly control: PostgresControlStore;
}

async function expectSmallSteps({ lanes, intake, deliveries, control }: Stores, lane: StageLane): Promise<void> {
  const few = 60;
  const messages = [message(lane, 'a'), message(lane, 'b')];
  expect(await entriesRead(() => intake.accept(worker, messages))).toBeLessThan(few);
  expect(await entriesRead(() => intake.accept(worker, messages))).toBeLessThan(few);
  const request = claimOf(lane);
  expect(await entriesRead(() => lanes.claim(worker, [request]))).toBeLessThan(few);
  const [turn] = await lanes.claim(worker, [request]);
  if (turn?.result !== 'claimed') throw new Error('not claimed');
  const step = {
    lane,
    fence: turn.fence,
    messageId: freshId<MessageId>(),
    seq: turn.seq,
    n: 1,
    role: 'tool_call',
    body: {},
  } as const;
  expect(await entriesRead(() => lanes.append([step]))).toBeLessThan(few);
  const commit = commitOf(turn, { owed: { kind: 'send', accountId: freshId<AccountId>(), sendNow: true } });
  expect(await entriesRead(() => lanes.commit(worker, [commit]))).toBeLessThan(few);
  expect(await entriesRead(() => lanes.commit(worker, [commit]))).toBeLessThan(few);
  expect(await entriesRead(() => lanes.look([lane]))).toBeLessThan(few);
  const map = await stage.ownership.slotMap();
  const partition = map[lane.slot] ?? 0;
  // the slots of a partition are descended into, one by one
  const slots = map.filter((each) => each === partition).length;
  expect(await entriesRead(() => lanes.scan([partition], 100))).toBeLessThan(2 * slots + few);
  const next = await stage.claim(worker, lane);
  expect(
    await entriesRead(() => lanes.handBack(worker, [{ ...next, hadEffect: true, reason: 'local_failure' }])),
  ).toBeLessThan(few);
  expect(await entriesRead(() => lanes.claim(worker, [claimOf(lane)]))).toBeLessThan(few);
  expect(
    await entriesRead(() => deliveries.claimDue(worker, { partitions: [], limit: 1, lanes: [lane] })),
  ).toBeLessThan(few);
  const queued = await stage.send(lane, 'c');
  expect(await entriesRead(() => control.cancelRun(tenant, queued))).toBeLessThan(few);
  await expectSmallControl(control, lane);
  await expectSmallQuestion(control, lane);
}

async function expectSmallControl(control: PostgresControlStore, lane: StageLane): Promise<void> {
  const [sessionId, newSessionId, dedupe] = [null, freshId<SessionId>(), null];
  for (const command of ['pause', 'unpause', { label: freshId() }, 'suspend', 'resume', 'reset'] as const) {
    const asked = { lane, sessionId, newSessionId, command, dedupe };
    expect(await entriesRead(() => control.control(asked)), `${command}`).toBeLessThan(60);
  }
  const messageId = freshId<MessageId>();
  const said = {
    ...{ lane, sessionId, newSessionId, messageId, author: 'agent' as const, body: { text: 'a' } },
    ...{ accountId: freshId<AccountId>(), undeliveredMax: 100 },
    dedupe: { scope: tenant, key: messageId, bodyHash: new Uint8Array([1]) },
  };
  expect(await entriesRead(() => control.sendOutbound(said))).toBeLessThan(60);
  expect(await entriesRead(() => control.accountOf(lane))).toBeLessThan(60);
}

async function expectSmallQuestion(control: PostgresControlStore, lane: StageLane): Promise<void> {
  const inputs = new PostgresInputStore(engine);
  await stage.send(lane, 'd');
  const turn = await stage.claim(worker, lane);
  const asked = {
    ...{ lane, fence: turn.fence, inputId: freshId<InputId>(), messageId: freshId<MessageId>() },
    ...{ stepId: freshId<MessageId>(), question: { kind: 'question' as const, text: 'a', waitMs: 60_000, call: CALL } },
  };
  expect(await entriesRead(() => inputs.ask(asked))).toBeLessThan(60);
  expect(await entriesRead(() => inputs.answer(tenant, asked.inputId, { text: 'b' }))).toBeLessThan(60);
  expect(await entriesRead(() => inputs.resolvedFor(lane, turn.fence.turnId))).toBeLessThan(60);
  const stopped = { lane, sessionId: null, newSessionId: freshId<SessionId>(), command: 'stop', dedupe: null } as const;
  expect(await entriesRead(() => control.control(stopped))).toBeLessThan(60);
}

const CALL = { callId: 'c', name: 'ask_person', body: {} };

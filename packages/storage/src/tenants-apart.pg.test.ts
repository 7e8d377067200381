import type { AccountId, BootId, EventId, MessageId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { claimOf, commitOf, freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let acme: TenantId;
let globex: TenantId;
let worker: BootId;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  acme = await stage.tenant('acme');
  globex = await stage.tenant('globex');
  worker = await stage.worker();
});
afterAll(() => stage.close());

const ENGINE_POLICY =
  "(tenant_id IN ( SELECT unnest((string_to_array(current_setting('tk.tenants'::text, true), ','::text))::uuid[]) AS unnest))";

test('every table that names a tenant has forced row-level security, and a policy for every role that may touch it', async () => {
  const tables = await stage.rows<{ name: string; forced: boolean; roles: string[] | null; granted: string[] | null }>(`
    select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
           (select array_agg(distinct r::text) from pg_policies p, unnest(p.roles) r where p.schemaname = 'tk' and p.tablename = c.relname) as roles,
           (select array_agg(distinct g.grantee::text) from information_schema.column_privileges g
             where g.table_schema = 'tk' and g.table_name = c.relname and g.grantee like 'tk!_%' escape '!' and g.grantee <> 'tk_owner') as granted
    from pg_class c
    where c.relnamespace = 'tk'::regnamespace and c.relkind in ('r', 'p')
      and (c.relname = 'tenants' or exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id'))`);
  expect(tables.length).toBeGreaterThanOrEqual(20);
  for (const table of tables) {
    expect(table, table.name).toMatchObject({ forced: true });
    for (const role of table.granted ?? []) expect(table.roles, `${table.name} for ${role}`).toContain(role);
  }
});

test('no role of a service is a superuser, may bypass row-level security, or owns a table', async () => {
  expect(
    await stage.rows(
      "select rolname from pg_roles where rolname like 'tk!_%' escape '!' and (rolsuper or rolbypassrls or rolcanlogin or rolcreaterole)",
    ),
  ).toEqual([]);
  expect(
    await stage.rows(
      "select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = 'tk'::regnamespace",
    ),
  ).toEqual([{ owner: 'tk_owner' }]);
});

test('the engine is held to the tenants of its batch by the hashed form of the policy, and to nothing when none are named', async () => {
  const policies = await stage.rows<{ tablename: string; qual: string; with_check: string }>(
    "select tablename, qual, with_check from pg_policies where schemaname = 'tk' and policyname = 'engine' and tablename not in ('tenants', 'tenant_load')",
  );
  expect(policies.length).toBeGreaterThanOrEqual(15);
  for (const policy of policies) expect(policy).toMatchObject({ qual: ENGINE_POLICY, with_check: ENGINE_POLICY });
  await stage.send(stage.lane(acme, 'k'), 'a');
  for (const list of ['', globex]) {
    const seen = await stage.engine.transaction(async (tx) => {
      await tx.query({ name: 'set', text: "select set_config('tk.tenants', $1, true)" }, [list]);
      return tx.query({ name: 'lanes', text: 'select 1 from tk.lanes' }, []);
    });
    expect(seen).toEqual([]);
  }
});

test('functions may be called by the roles that need them and nobody else', async () => {
  const open =
    "select proname from pg_proc where pronamespace = 'tk'::regnamespace and has_function_privilege('public', oid, 'execute')";
  expect(await stage.rows(open)).toEqual([]);
});

test('what goes over all tenants changes nothing and gives out ids and times, never contents', async () => {
  const definers = await stage.rows<{ name: string; result: string }>(
    `select proname as name, pg_get_userbyid(proowner) as owner, provolatile, proconfig, pg_get_function_result(oid) as result
     from pg_proc where pronamespace = 'tk'::regnamespace and prosecdef`,
  );
  expect(definers.map((row) => row.name)).toEqual(expect.arrayContaining(['owed_heads', 'running', 'scan']));
  for (const row of definers) {
    expect(row).toMatchObject({ owner: 'tk_sweep', provolatile: 's', proconfig: ['search_path=pg_catalog, pg_temp'] });
    expect(row.result, row.name).not.toMatch(/json|text|bytea|record/);
  }
});

/** Everything of acme, to see that nothing changed. */
async function snapshot(): Promise<unknown> {
  const tables = ['lanes', 'sessions', 'events', 'messages', 'turns', 'dedupe_keys'];
  return Promise.all(
    tables.map((table) =>
      stage.rows(`select x.*, x.xmin::text from tk.${table} x where tenant_id = $1 order by x::text`, [acme]),
    ),
  );
}

test("another tenant's ids reach nothing: every method answers as for what does not exist", async () => {
  const accountId = freshId<AccountId>();
  const lane = stage.lane(acme, 'busy');
  const event = await stage.send(lane, 'a');
  await stage.send(lane, 'b');
  const owed = { kind: 'send', accountId, sendNow: true } as const;
  const done = await stage.claim(worker, lane);
  await stage.commit(worker, done, { owed });
  const turn = await stage.claim(worker, lane);
  const [sent] = await stage.rows<{ seq: string }>(
    "select seq from tk.messages where lane_id = $1 and role = 'assistant'",
    [lane.laneId],
  );
  const ready = stage.lane(acme, 'ready');
  await stage.send(ready, 'c');
  const before = await snapshot();

  const foreign = <L extends StageLane>(mine: L): L => ({ ...mine, tenantId: globex });
  const stolen = { ...turn, lane: { ...turn.lane, tenantId: globex } };
  expect(await stage.lanes.claim(worker, [claimOf(foreign(ready)), claimOf(foreign(lane))])).toEqual([
    { result: 'missing' },
    { result: 'missing' },
  ]);
  const step = {
    lane: stolen.lane,
    fence: turn.fence,
    messageId: freshId<MessageId>(),
    seq: turn.seq,
    n: 1,
    role: 'tool_call',
    body: {},
  } as const;
  expect(await stage.lanes.append([step])).toEqual(['stale']);
  expect(await stage.lanes.commit(worker, [commitOf(stolen)])).toEqual([{ result: 'stale' }]);
  expect(await stage.lanes.handBack(worker, [{ ...stolen, hadEffect: true, reason: 'local_failure' }])).toEqual([
    false,
  ]);
  expect(await stage.lanes.look([foreign(ready)])).toEqual([false]);
  expect(await stage.lanes.stillRunning([{ lane: stolen.lane, turnId: turn.fence.turnId }])).toEqual([false]);
  expect(await stage.control.cancelRun(globex, event)).toEqual({ result: 'missing' });
  expect(await stage.control.cancelRun(globex, turn.events[0]?.eventId ?? freshId<EventId>())).toEqual({
    result: 'missing',
  });
  expect(await stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [foreign(lane)] })).toEqual([]);
  const settlement = {
    lane: stolen.lane,
    seq: sent?.seq ?? '0',
    n: 0,
    attempt: 1,
    outcome: { state: 'delivered', ref: 'x' },
  } as const;
  expect(await stage.deliveries.settle(worker, [settlement])).toEqual([false]);
  expect(await snapshot()).toEqual(before);
});

test('a batch reaches the tenants it was made of and no other, also on a connection that served others before', async () => {
  const one = stage.lane(acme, 'one');
  const two = stage.lane(globex, 'two');
  await stage.accept([message(one, 'a'), message(two, 'b')]);
  const claimed = await stage.lanes.claim(worker, [claimOf(one), claimOf(two)]);
  expect(claimed.map((turn) => turn.result)).toEqual(['claimed', 'claimed']);
  for (const tenantId of [globex, acme]) {
    const items = claimed.filter((turn) => turn.result === 'claimed' && turn.lane.tenantId === tenantId);
    const refs = items.flatMap((turn) =>
      turn.result === 'claimed' ? [{ lane: turn.lane, turnId: turn.fence.turnId }] : [],
    );
    expect(await stage.lanes.stillRunning(refs)).toEqual([true]);
  }
});

test('an event cannot point at the lane of another tenant', async () => {
  const lane = stage.lane(acme, 'mine');
  await stage.send(lane, 'a');
  const insert = "insert into tk.events (slot, tenant_id, lane_id, id, body) values ($1, $2, $3, $4, '{}')";
  await expect(stage.rows(insert, [lane.slot, globex, lane.laneId, freshId()])).rejects.toMatchObject({
    code: '23503',
  });
});

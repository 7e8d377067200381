import type { AccountId, BootId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { UsageStore } from './read/usage-store.ts';
import { allPages, openReadStage, type ReadStage } from './testing/read-stage.ts';
import { freshId } from './testing/stage.ts';
import { PostgresUsageCounting } from './usage-counting.ts';

let read: ReadStage;
let counting: PostgresUsageCounting;
let store: UsageStore;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  counting = new PostgresUsageCounting(read.stage.sweep);
  store = new UsageStore(read.api);
  worker = await read.stage.worker();
});
afterAll(() => read.close());

const count = (tenantId: TenantId, rows = 100) => counting.count(tenantId, { rows, lagMs: 0 });
const due = () => counting.due({ tenants: 10, lagMs: 0 });
const used = (tenantId: TenantId, filter = {}) =>
  allPages((cursor) => store.list(tenantId, { limit: 1, ...filter, cursor }));

test('turns, what they ended, sent and spent are added up once, however often and in however small steps', async () => {
  const { stage } = read;
  const tenantId = await read.tenant('acme');
  const lane = stage.lane(tenantId, 'a');
  const owed = { kind: 'send', accountId: freshId<AccountId>(), sendNow: false } as const;
  for (const text of ['1', '2', '3']) {
    await stage.send(lane, text);
    const usage = { inputTokens: 10, outputTokens: 2 };
    await stage.commit(worker, await stage.claim(worker, lane), { owed, usage });
  }
  const cancelled = await stage.send(lane, '4');
  await stage.control.cancelRun(tenantId, cancelled);
  expect(await due()).toEqual([tenantId]);
  expect(await count(tenantId, 2)).toBe(true);
  expect(await due()).toEqual([tenantId]);
  await Promise.all([count(tenantId, 2), count(tenantId, 2)]);
  await count(tenantId);
  expect(await due()).toEqual([]);
  const total = { turns: 3, events: 4, deliveries: 3, tokensIn: 30, tokensOut: 6 };
  expect(await used(tenantId)).toEqual([
    { ...total, day: expect.any(String), agentId: lane.agentId, agentName: 'main' },
  ]);
  await read.exchange(worker, lane, '5');
  await count(tenantId);
  expect(await used(tenantId)).toMatchObject([{ ...total, turns: 4, events: 5 }]);
});

test('no step takes more than its rows of any kind, and who is furthest behind comes first', async () => {
  const tenantId = await read.tenant('long');
  const lane = read.stage.lane(tenantId, 'a');
  await read.exchange(worker, lane, '1');
  await count(tenantId);
  const [before] = await used(tenantId);
  // a past of one day each in which no turn ended: runs that were given up, and messages nobody's turn said
  await read.stage.rows(
    `insert into tk.events (slot, tenant_id, lane_id, id, state, body, settled_at)
     select z.slot, z.tenant_id, z.id, tk.new_id(), 14, '{}', date '2020-01-01' + i
     from tk.lanes z cross join generate_series(1, 5) i where z.tenant_id = $1`,
    [tenantId],
  );
  await read.stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body, account_id, dstate, at)
     select m.slot, m.tenant_id, m.lane_id, m.seq + i, 0, tk.new_id(), m.session_id, 1, 'notice', '{}', tk.new_id(), 2, date '2021-01-01' + i
     from tk.messages m cross join generate_series(1, 5) i where m.tenant_id = $1`,
    [tenantId],
  );
  await read.stage.rows("update tk.usage_progress set counted_to = '-infinity' where tenant_id = $1", [tenantId]);
  const recent = await read.tenant('recent');
  await read.exchange(worker, read.stage.lane(recent, 'a'), '1');
  await count(recent);
  await read.exchange(worker, read.stage.lane(recent, 'a'), '2');
  expect(await due()).toEqual([tenantId, recent]);
  const days: number[] = [];
  for (let step = 0; step < 6; step++) {
    await count(tenantId, 2);
    days.push((await used(tenantId)).length);
  }
  // today stands there already; a step takes two of each kind: the third takes what is left of the runs, too
  expect(days).toEqual([3, 5, 8, 10, 11, 11]);
  expect(before).toMatchObject({ turns: 1, events: 1 });
  expect(await due()).toEqual([recent]);
  await count(recent);
});

test('days and agents are led through newest first, and other tenants see nothing of it', async () => {
  const tenantId = await read.tenant('days');
  const [first = '', second = ''] = [freshId<string>(), freshId<string>()].toSorted();
  for (const [day, agentId] of [
    ['2026-01-30', first],
    ['2026-01-31', first],
    ['2026-01-31', second],
  ]) {
    await read.stage.rows("insert into tk.usage values ($1, $2, $3, 'turns', 7)", [tenantId, day, agentId]);
  }
  const seen = async (filter: object) => (await used(tenantId, filter)).map(({ day, agentId }) => `${day} ${agentId}`);
  expect(await seen({})).toEqual([`2026-01-31 ${second}`, `2026-01-31 ${first}`, `2026-01-30 ${first}`]);
  expect(await seen({ to: '2026-01-30' })).toEqual([`2026-01-30 ${first}`]);
  expect(await seen({ from: '2026-01-31', agentId: first })).toEqual([`2026-01-31 ${first}`]);
  expect(await seen({ from: '0000-01-01', to: '0000-01-01' })).toEqual([]);
  expect(await used(await read.tenant('other'))).toEqual([]);
});

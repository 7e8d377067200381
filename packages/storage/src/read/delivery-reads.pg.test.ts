import type { AccountId, BootId, DeliveryFilter, DueDelivery, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { freshId, type StageLane } from '../testing/stage.ts';

let read: ReadStage;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  worker = await read.stage.worker();
});
afterAll(() => read.close());

/** A turn whose reply is owed through the account, or proven by its commit. */
async function exchange(lane: StageLane, text: string, accountId?: AccountId) {
  const eventId = await read.stage.send(lane, text);
  const owed =
    accountId === undefined ? ({ kind: 'proven' } as const) : ({ kind: 'send', accountId, sendNow: false } as const);
  await read.stage.commit(worker, await read.stage.claim(worker, lane), { owed });
  return eventId;
}

async function due(lane: StageLane): Promise<DueDelivery> {
  const [first] = await read.stage.deliveries.claimDue(worker, { partitions: [], limit: 1, lanes: [lane] });
  if (first === undefined) throw new Error('nothing is due');
  return first;
}

async function found(tenantId: TenantId, filter: Partial<DeliveryFilter>): Promise<string[]> {
  const rows = await allPages((cursor) => read.deliveries.list(tenantId, { limit: 2, ...filter, cursor }));
  const records = await Promise.all(rows.map(({ messageId }) => read.deliveries.get(tenantId, messageId)));
  return records.map((record) => `${record?.status} ${record?.text}`);
}

test('deliveries are listed newest first, each once, and narrowed to a status, a lane, a run, an account', async () => {
  const tenantId = await read.tenant('acme');
  const [a, b] = [read.stage.lane(tenantId, 'a'), read.stage.lane(tenantId, 'b')];
  const [one, two] = [freshId<AccountId>(), freshId<AccountId>()];
  await exchange(a, '1');
  await exchange(a, '2', one);
  const run = await exchange(a, '3', one);
  await exchange(b, '4', two);
  await read.stage.deliveries.settle(worker, [
    { ...(await due(a)), outcome: { state: 'failed', error: { code: 'http_400' } } },
    { ...(await due(b)), outcome: { state: 'pending', afterMs: 60_000, error: { code: 'http_429' } } },
  ]);
  await due(a);
  const all = ['pending re: 4', 'sending re: 3', 'failed re: 2', 'delivered re: 1'];
  expect(await found(tenantId, {})).toEqual(all);
  expect(await found(tenantId, { limit: 1 })).toEqual(all);
  expect(await found(tenantId, { status: 'failed' })).toEqual(['failed re: 2']);
  expect(await found(tenantId, { status: 'sending' })).toEqual(['sending re: 3']);
  expect(await found(tenantId, { lane: a })).toEqual(all.slice(1));
  expect(await found(tenantId, { lane: a, status: 'pending' })).toEqual([]);
  expect(await found(tenantId, { runId: run })).toEqual(['sending re: 3']);
  expect(await found(tenantId, { runId: run, lane: a })).toEqual(['sending re: 3']);
  expect(await found(tenantId, { runId: run, lane: b })).toEqual([]);
  expect(await found(tenantId, { accountId: one })).toEqual(['sending re: 3', 'failed re: 2']);
  expect(await found(tenantId, { agentId: freshId() })).toEqual([]);
  expect(await found(tenantId, { runId: freshId() })).toEqual([]);
  const { rows } = await read.deliveries.list(tenantId, { limit: 1 });
  expect(rows[0]).toMatchObject({ attempts: 1, errorCode: 'http_429', dueAt: expect.any(Date), heldUntil: null });
  const foreign = await read.tenant('globex');
  expect(await found(foreign, {})).toEqual([]);
  expect(await found(foreign, { lane: a })).toEqual([]);
  expect(await read.deliveries.get(foreign, rows[0]?.messageId ?? freshId())).toBeNull();
});

test('a filter that lets nothing through leads on from where its page stopped looking', async () => {
  const tenantId = await read.tenant('many');
  const lane = read.stage.lane(tenantId, 'a');
  await exchange(lane, 'the one', freshId<AccountId>());
  await read.stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body, dstate)
     select m.slot, m.tenant_id, m.lane_id, m.seq + i, 0, tk.new_id(), m.session_id, 1, 'notice', '{}', 2
     from tk.messages m cross join generate_series(1, 5500) i where m.tenant_id = $1`,
    [tenantId],
  );
  const { accountId } = await due(lane);
  for (const where of [{}, { lane }]) {
    const first = await read.deliveries.list(tenantId, { ...where, limit: 2, accountId });
    expect(first).toMatchObject({ rows: [], nextCursor: expect.any(String) });
    expect(await found(tenantId, { ...where, accountId })).toEqual(['sending re: the one']);
  }
});

test('a cursor of one list is refused by the other', async () => {
  const tenantId = await read.tenant('cursors');
  const lane = read.stage.lane(tenantId, 'a');
  for (const text of ['1', '2']) await exchange(lane, text);
  const { nextCursor } = await read.deliveries.list(tenantId, { limit: 1 });
  const asked = { limit: 1, cursor: nextCursor ?? '', lane };
  await expect(read.deliveries.list(tenantId, asked)).rejects.toMatchObject({ code: 'invalid_cursor' });
});

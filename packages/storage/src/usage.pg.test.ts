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

const count = (turns = 100) => counting.count({ tenants: 10, turns, lagMs: 0 });
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
  expect(await count(2)).toBe(1);
  expect(await count(2)).toBe(1);
  await Promise.all([count(2), count(2)]);
  expect(await count()).toBe(0);
  const total = { turns: 3, events: 4, deliveries: 3, tokensIn: 30, tokensOut: 6 };
  expect(await used(tenantId)).toEqual([
    { ...total, day: expect.any(String), agentId: lane.agentId, agentName: 'main' },
  ]);
  await read.exchange(worker, lane, '5');
  await count();
  expect(await used(tenantId)).toMatchObject([{ ...total, turns: 4, events: 5 }]);
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

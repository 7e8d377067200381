import {
  type AccountId,
  type BootId,
  type CommitRequest,
  type DeliverySettlement,
  type DueDelivery,
  repairDeliveries,
  type TenantId,
} from '@turnkeeper/core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

const nothing = { unknown: 0, held: 0, resent: [], abandoned: [] };
const ALL = [...Array(16).keys()];
const accountId = freshId<AccountId>();
let stage: Stage;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
});
afterAll(() => stage.close());
beforeEach(async () => {
  await stage.rows('delete from tk.messages');
  worker = await stage.worker();
});

/** A lane with one owed reply per text. */
async function owing(texts: readonly string[], over: Partial<CommitRequest> = {}): Promise<StageLane> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  for (const text of texts) {
    await stage.send(lane, text);
    const owed = { kind: 'send', accountId, sendNow: false } as const;
    await stage.commit(worker, await stage.claim(worker, lane), { owed, ...over });
  }
  return lane;
}
const due = (lanes?: readonly StageLane[], bootId = worker) =>
  stage.deliveries.claimDue(bootId, { partitions: ALL, limit: 100, ...(lanes === undefined ? {} : { lanes }) });
const settle = (delivery: DueDelivery, outcome: DeliverySettlement['outcome'], bootId = worker) =>
  stage.deliveries.settle(bootId, [{ ...delivery, outcome }]);
const textsOf = (deliveries: readonly DueDelivery[]) => deliveries.map((delivery) => delivery.body.text);
const only = async (claimed: Promise<DueDelivery[]>): Promise<DueDelivery> => {
  const [first, ...rest] = await claimed;
  if (first === undefined || rest.length > 0) throw new Error('expected one delivery');
  return first;
};

test('replies of a conversation leave one at a time, in order, each once', async () => {
  const lane = await owing(['a', 'b', 'c']);
  for (const text of ['re: a', 're: b', 're: c']) {
    const delivery = await only(due([lane]));
    expect(delivery).toMatchObject({
      body: { text },
      accountId,
      attempt: 1,
      recovered: false,
      sessionKey: lane.sessionKey,
      role: 'assistant',
    });
    expect(await due([lane])).toEqual([]);
    expect(await due()).toEqual([]);
    expect(await settle(delivery, { state: 'delivered', ref: 'platform-id' })).toEqual([true]);
    expect(await settle(delivery, { state: 'delivered', ref: 'again' })).toEqual([false]);
  }
  expect(await due()).toEqual([]);
  expect(await stage.rows('select dstate, dref from tk.messages where lane_id = $1', [lane.laneId])).toEqual(
    Array(3).fill({ dstate: 2, dref: 'platform-id' }),
  );
});

test('the heads of all conversations of the partitions are found, whatever their tenant', async () => {
  const lanes = [await owing(['a', 'x']), await owing(['b'])];
  const other = stage.lane(await stage.tenant('globex'), 'k');
  await stage.send(other, 'c');
  await stage.commit(worker, await stage.claim(worker, other), { owed: { kind: 'send', accountId, sendNow: false } });
  expect(await stage.deliveries.nextDueMs(ALL, [])).toBe(0);
  const map = await stage.ownership.slotMap();
  const [first] = lanes;
  if (first === undefined) throw new Error('no lane');
  const mine = map[first.slot] ?? -1;
  const elsewhere = ALL.filter((partition) => ![...lanes, other].some((lane) => map[lane.slot] === partition));
  expect(await stage.deliveries.claimDue(worker, { partitions: elsewhere, limit: 10 })).toEqual([]);
  expect(await stage.deliveries.nextDueMs(elsewhere, [])).toBeNull();
  expect(textsOf(await stage.deliveries.claimDue(worker, { partitions: [mine], limit: 10 }))).toContain('re: a');
  expect(textsOf(await due()).length).toBeGreaterThanOrEqual(1);
  expect(await due()).toEqual([]);
});

test('rows of an account that is to wait are left alone, however they are asked for, and others found', async () => {
  const waiting = await owing(['a']);
  const other = freshId<AccountId>();
  const lane = await owing(['b'], { owed: { kind: 'send', accountId: other, sendNow: false } });
  const except = { partitions: ALL, limit: 100, exceptAccounts: [accountId] };
  expect(await stage.deliveries.nextDueMs(ALL, [accountId, other])).toBeNull();
  expect(await stage.deliveries.claimDue(worker, { ...except, lanes: [waiting] })).toEqual([]);
  expect(textsOf(await stage.deliveries.claimDue(worker, except))).toEqual(['re: b']);
  expect(textsOf(await due([waiting, lane]))).toEqual(['re: a']);
});

test('nothing leaves through an account that is paused, from any worker, until it is over', async () => {
  const [lane, other] = [await owing(['a']), freshId<AccountId>()];
  const free = await owing(['b'], { owed: { kind: 'send', accountId: other, sendNow: false } });
  await stage.deliveries.pauseAccount(tenant, accountId, 60_000);
  await stage.deliveries.pauseAccount(tenant, accountId, 5);
  const [paused] = await stage.deliveries.pausedAccounts();
  expect(paused?.accountId).toBe(accountId);
  expect(paused?.leftMs).toBeGreaterThan(50_000);
  expect(textsOf(await due([lane, free], await stage.worker()))).toEqual(['re: b']);
  await stage.rows('update tk.account_pauses set until = now()');
  expect(await stage.deliveries.pausedAccounts()).toEqual([]);
  expect(await only(due([lane]))).toMatchObject({ body: { text: 're: a' }, attempt: 1 });
});

test('a pause that is lifted lets go what waits because it was refused, too, and is lifted once', async () => {
  const lane = await owing(['a']);
  await stage.deliveries.pauseAccount(tenant, accountId, 60_000);
  await stage.rows("update tk.messages set ddue = now() + interval '1 hour' where lane_id = $1", [lane.laneId]);
  const lift = () => stage.rows('select tk.unpause_account($1, $2) lifted', [tenant, accountId]);
  expect(await lift()).toEqual([{ lifted: true }]);
  expect(await stage.deliveries.pausedAccounts()).toEqual([]);
  expect(await only(due([lane]))).toMatchObject({ body: { text: 're: a' }, attempt: 1 });
  expect(await lift()).toEqual([{ lifted: false }]);
});

test('a proven refusal is due again after its pause, as the next attempt, and blocks only its conversation', async () => {
  const lane = await owing(['a', 'b']);
  const first = await only(due([lane]));
  expect(await settle(first, { state: 'pending', afterMs: 60_000, error: { code: 'http_429' } })).toEqual([true]);
  expect(await due()).toEqual([]);
  const nextMs = await stage.deliveries.nextDueMs(ALL, []);
  expect(nextMs).toBeGreaterThan(50_000);
  expect(nextMs).toBeLessThanOrEqual(60_000);
  const other = await owing(['c']);
  expect(textsOf(await due())).toEqual(['re: c']);
  expect(other.laneId).not.toBe(lane.laneId);
  await stage.rows('update tk.messages set ddue = now() where lane_id = $1 and ddue is not null', [lane.laneId]);
  expect(await only(due())).toMatchObject({ body: { text: 're: a' }, attempt: 2, recovered: false });
});

test('what failed for good or was abandoned lets the next one pass', async () => {
  for (const state of ['failed', 'abandoned'] as const) {
    const lane = await owing(['a', 'b']);
    await settle(await only(due([lane])), { state, error: { code: 'http_400' } });
    expect(textsOf(await due([lane]))).toEqual(['re: b']);
  }
});

test('an unknown outcome holds its conversation until it was sent once more, marked recovered', async () => {
  const lane = await owing(['a', 'b']);
  await settle(await only(due([lane])), { state: 'unknown', error: { code: 'timeout' } });
  expect(await due()).toEqual([]);
  expect(await repairDeliveries(stage.repair, 10)).toEqual({
    ...{ unknown: 0, held: 0, abandoned: [] },
    resent: [{ slot: lane.slot, tenantId: tenant, laneId: lane.laneId }],
  });
  expect(await repairDeliveries(stage.repair, 10)).toEqual(nothing);
  const second = await only(due());
  expect(second).toMatchObject({ body: { text: 're: a' }, attempt: 2, recovered: true });
  await settle(second, { state: 'unknown', error: { code: 'timeout' } });
  expect(await repairDeliveries(stage.repair, 10)).toEqual(nothing);
  expect(textsOf(await due())).toEqual(['re: b']);
});

test('sends of a lost process become unknown, never pending, and its late record is refused', async () => {
  const lane = await owing(['a']);
  const sending = await only(due([lane]));
  await stage.kill(worker);
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ unknown: 1, resent: [{ laneId: lane.laneId }] });
  expect(await settle(sending, { state: 'delivered', ref: 'late' })).toEqual([false]);
  const next = await stage.worker();
  const again = await only(due([lane], next));
  expect(again).toMatchObject({ attempt: 2, recovered: true });
  expect(await settle(again, { state: 'delivered', ref: 'x' }, worker)).toEqual([false]);
  expect(await settle({ ...again, attempt: 1 }, { state: 'delivered', ref: 'x' }, next)).toEqual([false]);
  expect(await settle(again, { state: 'delivered', ref: 'x' }, next)).toEqual([true]);
});

test('only a live worker gets rows', async () => {
  const lane = await owing(['a']);
  await stage.ownership.leave(worker);
  expect(await due([lane])).toEqual([]);
  expect(await due([lane], freshId<BootId>())).toEqual([]);
  expect(textsOf(await due([lane], await stage.worker()))).toEqual(['re: a']);
});

// Seen to fail with the head looked for and locked in one step: the second reply is sent while the first is locked.
test('a head that another transaction holds is waited for, not passed over', async () => {
  const lane = await owing(['a', 'b']);
  const rival = await stage.root.connect();
  try {
    await rival.query('begin');
    await rival.query('select 1 from tk.messages where lane_id = $1 order by seq limit 1 for no key update', [
      lane.laneId,
    ]);
    expect(await due([lane])).toEqual([]);
  } finally {
    await rival.query('rollback');
    rival.release();
  }
  expect(textsOf(await due([lane]))).toEqual(['re: a']);
});

test('two workers that claim the same conversations at once share them without a double', async () => {
  const lanes = await Promise.all(Array.from({ length: 30 }, (_, i) => owing([`${i}`])));
  const other = await stage.worker();
  const claimed = (
    await Promise.all([due(lanes), due([...lanes].reverse(), other), due(), due(undefined, other)])
  ).flat();
  const rest = await due();
  expect(new Set([...claimed, ...rest].map((delivery) => delivery.messageId)).size).toBe(30);
  expect(claimed.length + rest.length).toBe(30);
});

test('a reply proven by its commit is owed nothing', async () => {
  await owing(['a'], { owed: { kind: 'proven' } });
  expect(await due()).toEqual([]);
  expect(await stage.deliveries.nextDueMs(ALL, [])).toBeNull();
});

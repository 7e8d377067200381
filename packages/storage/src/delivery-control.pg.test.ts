import {
  type AccountId,
  type BootId,
  type DeliverySettlement,
  type DeliveryVerb,
  type DueDelivery,
  type MessageId,
  repairDeliveries,
  type TenantId,
} from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PostgresDeliveryControl } from './delivery-control.ts';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

const error = { code: 'timeout' };
let stage: Stage;
let control: PostgresDeliveryControl;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  control = new PostgresDeliveryControl(stage.engine);
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(() => stage.close());

/** A lane that owes one reply per text, of which the first is being sent. */
async function sending(
  texts: readonly string[],
  accountId = freshId<AccountId>(),
): Promise<{ lane: StageLane; first: DueDelivery }> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  for (const text of texts) {
    await stage.send(lane, text);
    const owed = { kind: 'send', accountId, sendNow: false } as const;
    await stage.commit(worker, await stage.claim(worker, lane), { owed });
  }
  return { lane, first: await next(lane) };
}

async function next(lane: StageLane): Promise<DueDelivery> {
  const [delivery] = await stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });
  if (delivery === undefined) throw new Error('nothing is due');
  return delivery;
}

const settle = (delivery: DueDelivery, outcome: DeliverySettlement['outcome']) =>
  stage.deliveries.settle(worker, [{ ...delivery, outcome }]);
const decide = (messageId: MessageId, verb: DeliveryVerb, of = tenant) =>
  control.decide(of, messageId, { verb, actor: 'key:abc', auditId: freshId() });
const due = (lane: StageLane) => stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });

test('a retry of what failed for good is sent before what its conversation still owes, and not marked', async () => {
  const { lane, first } = await sending(['a', 'b', 'c']);
  await settle(first, { state: 'failed', error });
  const second = await next(lane);
  expect(await decide(first.messageId, 'retry')).toEqual({ result: 'busy' });
  await settle(second, { state: 'delivered', ref: null });
  expect(await decide(first.messageId, 'retry')).toMatchObject({ result: 'done', status: 'pending', attempts: 1 });
  expect(await decide(first.messageId, 'retry')).toMatchObject({ result: 'same' });
  const again = await next(lane);
  expect(again).toMatchObject({ messageId: first.messageId, attempt: 2, recovered: false });
  await settle(again, { state: 'delivered', ref: null });
  expect(await next(lane)).toMatchObject({ body: { text: 're: c' } });
  expect(
    await stage.rows('select action, actor, subject, detail from tk.audit where subject = $1', [
      `delivery:${first.messageId}`,
    ]),
  ).toEqual([
    {
      ...{ action: 'delivery.retried', actor: 'key:abc', subject: `delivery:${first.messageId}` },
      detail: { from: 3, to: 0, attempt: 1 },
    },
  ]);
});

test('a retry of what may have arrived is marked recovered', async () => {
  const { lane, first } = await sending(['a']);
  await settle(first, { state: 'unknown', error });
  await decide(first.messageId, 'retry');
  const again = await next(lane);
  expect(again).toMatchObject({ attempt: 2, recovered: true });
  await settle(again, { state: 'failed', error });
  await decide(first.messageId, 'retry');
  expect(await next(lane)).toMatchObject({ attempt: 3, recovered: true });
});

test('a retry waits for a claim of its conversation that is under way, and begins no second send beside it', async () => {
  const { lane, first } = await sending(['a', 'b']);
  await settle(first, { state: 'failed', error });
  const claiming = await stage.root.connect();
  await claiming.query('begin');
  await claiming.query(
    'update tk.messages set dstate = 1, dboot = $1, dattempt = 1 where lane_id = $2 and dstate in (0, 1, 4) and dstate = 0',
    [worker, lane.laneId],
  );
  const retried = decide(first.messageId, 'retry');
  await stage.blocked('decide_delivery');
  await claiming.query('commit');
  claiming.release();
  expect(await retried).toEqual({ result: 'busy' });
  expect(await due(lane)).toEqual([]);
});

test('what a person gives up lets the next one pass, and what arrived is not sent again', async () => {
  const { lane, first } = await sending(['a', 'b', 'c']);
  expect(await decide(first.messageId, 'abandoned')).toEqual({ result: 'busy' });
  await settle(first, { state: 'pending', afterMs: 60_000, error });
  expect(await due(lane)).toEqual([]);
  expect(await decide(first.messageId, 'abandoned')).toMatchObject({ result: 'done', status: 'abandoned' });
  const second = await next(lane);
  await settle(second, { state: 'unknown', error });
  expect(await decide(second.messageId, 'delivered')).toMatchObject({ result: 'done', status: 'delivered' });
  expect(await decide(second.messageId, 'delivered')).toMatchObject({ result: 'same' });
  expect(await decide(second.messageId, 'retry')).toEqual({ result: 'settled' });
  expect(await decide(second.messageId, 'abandoned')).toEqual({ result: 'settled' });
  const third = await next(lane);
  expect(third.body.text).toBe('re: c');
  await settle(third, { state: 'delivered', ref: null });
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ resent: [] });
});

test('what was never sent cannot be said to have arrived, and what was erased cannot be sent', async () => {
  const { lane, first } = await sending(['a', 'b']);
  const [waiting] = await stage.rows<{ id: MessageId }>(
    'select id from tk.messages where lane_id = $1 and dstate = 0',
    [lane.laneId],
  );
  expect(await decide(waiting?.id ?? first.messageId, 'delivered')).toEqual({ result: 'settled' });
  await settle(first, { state: 'failed', error });
  await stage.rows(`update tk.messages set body = '{"text": ""}' where id = $1`, [first.messageId]);
  expect(await decide(first.messageId, 'retry')).toEqual({ result: 'gone' });
});

test("another tenant's delivery is one that never was", async () => {
  const { first } = await sending(['a']);
  const globex = await stage.tenant(`globex-${names++}`);
  await settle(first, { state: 'failed', error });
  for (const verb of ['retry', 'delivered', 'abandoned'] as const) {
    expect(await decide(first.messageId, verb, globex)).toEqual({ result: 'missing' });
  }
  expect(await decide(freshId(), 'retry')).toEqual({ result: 'missing' });
});

test('an account that holds unknown outcomes keeps its conversation waiting until a person or a day has passed', async () => {
  const accountId = await stage.account(tenant, { onUnknown: 'hold' });
  const { lane, first } = await sending(['a', 'b'], accountId);
  await settle(first, { state: 'unknown', error });
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ held: 1, resent: [], abandoned: [] });
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ held: 0, resent: [], abandoned: [] });
  expect(await due(lane)).toEqual([]);
  await decide(first.messageId, 'delivered');
  expect(await due(lane)).toMatchObject([{ body: { text: 're: b' } }]);

  const other = await sending(['c', 'd'], accountId);
  await settle(other.first, { state: 'unknown', error });
  await repairDeliveries(stage.repair, 10);
  await stage.rows('update tk.messages set ddue = now() where lane_id = $1 and ddue is not null', [other.lane.laneId]);
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ abandoned: [{ laneId: other.lane.laneId }] });
  expect(await due(other.lane)).toMatchObject([{ body: { text: 're: d' } }]);
});

test('an account without a ledger is sent nothing again: what may have arrived is given up, and what stands behind it goes out', async () => {
  const accountId = await stage.account(tenant, { ledger: false });
  const { lane, first } = await sending(['a', 'b'], accountId);
  await settle(first, { state: 'unknown', error });
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ resent: [], abandoned: [{ laneId: lane.laneId }] });
  expect(await stage.rows('select dstate, derror from tk.messages where id = $1', [first.messageId])).toEqual([
    { dstate: 5, derror: { code: 'ledger_off' } },
  ]);
  expect(await due(lane)).toMatchObject([{ body: { text: 're: b' } }]);
});

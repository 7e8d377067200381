import {
  type AccountId,
  type BootId,
  DELIVERY_STATE,
  EVENT_KIND,
  EVENT_STATE,
  type EventId,
  interruptLostTurns,
  repairDeliveries,
  type TenantId,
  TURN_REASON,
  TURN_STATE,
  WORKER_STATE,
} from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(() => stage.close());

async function laneWith(text: string): Promise<{ lane: StageLane; event: EventId }> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  return { lane, event: await stage.send(lane, text) };
}
const value = async (column: string, table: string, lane: StageLane) =>
  (
    await stage.rows<{ value: number }>(
      `select ${column} as value from tk.${table} where lane_id = $1 order by seq desc nulls last limit 1`,
      [lane.laneId],
    )
  )[0]?.value;

// The numbers in the SQL functions are literals; these are the rows they leave behind.
test('a commit leaves the numbers that core gives its status', async () => {
  for (const status of ['ok', 'no_reply', 'error', 'timeout'] as const) {
    const { lane } = await laneWith('a');
    expect(await value('state', 'events', lane)).toBe(EVENT_STATE.queued);
    await stage.commit(worker, await stage.claim(worker, lane), { status });
    expect(await value('state', 'events', lane)).toBe(EVENT_STATE[status]);
    expect(await value('state', 'turns', lane)).toBe(TURN_STATE[status]);
    expect(await value('dstate', 'messages', lane)).toBe(DELIVERY_STATE.delivered);
  }
});

test('hand-back, cancel, interrupt and refusal leave the numbers of core', async () => {
  const { lane, event } = await laneWith('a');
  await stage.lanes.handBack(worker, [
    { ...(await stage.claim(worker, lane)), hadEffect: false, reason: 'local_failure' },
  ]);
  expect([await value('state', 'events', lane), await value('state', 'turns', lane)]).toEqual([
    EVENT_STATE.queued,
    TURN_STATE.handed_back,
  ]);
  await stage.lanes.handBack(worker, [
    { ...(await stage.claim(worker, lane)), hadEffect: true, reason: 'local_failure' },
  ]);
  expect(await value('state', 'events', lane)).toBe(EVENT_STATE.resuming);
  expect(await stage.claim(worker, lane)).toMatchObject({ reason: 'resume' });
  expect(await stage.rows('select turn_reason from tk.lanes where id = $1', [lane.laneId])).toEqual([
    { turn_reason: TURN_REASON.resume },
  ]);
  await stage.control.cancelRun(tenant, event);
  expect([await value('state', 'events', lane), await value('state', 'turns', lane)]).toEqual([
    EVENT_STATE.cancelled,
    TURN_STATE.cancelled,
  ]);

  const poison = await laneWith('poison');
  for (let strikes = 1; strikes <= 3; strikes++) {
    const killed = await stage.worker();
    await stage.claim(killed, poison.lane);
    await stage.kill(killed);
    await interruptLostTurns(stage.repair, 10);
    expect(await value('state', 'turns', poison.lane)).toBe(TURN_STATE.interrupted);
  }
  expect(await value('state', 'events', poison.lane)).toBe(EVENT_STATE.refused);
});

test('every unfinished event has a number below 10, every ended one has not: the index on open events says so', () => {
  const { queued, resuming, waiting, ...ends } = EVENT_STATE;
  expect(Math.max(queued, resuming, waiting)).toBeLessThan(10);
  expect(Math.min(...Object.values(ends))).toBeGreaterThanOrEqual(10);
});

test('deliveries, processes and kinds of events have the numbers of core', async () => {
  const { lane } = await laneWith('a');
  const owed = { kind: 'send', accountId: freshId<AccountId>(), sendNow: true } as const;
  await stage.commit(worker, await stage.claim(worker, lane), { owed });
  expect(await value('dstate', 'messages', lane)).toBe(DELIVERY_STATE.sending);
  const sending = await stage.worker();
  await stage.rows('update tk.messages set dboot = $1 where dstate = 1', [sending]);
  await stage.kill(sending);
  expect(await stage.rows('select state from tk.workers where boot_id = $1', [sending])).toEqual([
    { state: WORKER_STATE.dead },
  ]);
  expect(await repairDeliveries(stage.repair, 10)).toMatchObject({ unknown: 1 });
  expect(await value('dstate', 'messages', lane)).toBe(DELIVERY_STATE.pending);

  const leaving = await stage.worker();
  await stage.ownership.leave(leaving);
  expect(await stage.rows('select state from tk.workers where boot_id = $1', [leaving])).toEqual([
    { state: WORKER_STATE.leaving },
  ]);
  await stage.ownership.gone(leaving);
  expect(await stage.rows('select state from tk.workers where boot_id = $1', [leaving])).toEqual([
    { state: WORKER_STATE.gone },
  ]);

  await stage.send(lane, 'tick', { kind: 'wake' });
  expect(await stage.claim(worker, lane)).toMatchObject({ reason: 'wake', events: [{ kind: 'wake' }] });
  expect(await stage.rows('select turn_reason from tk.lanes where id = $1', [lane.laneId])).toEqual([
    { turn_reason: TURN_REASON.wake },
  ]);
  expect(
    await stage.rows('select 1 from tk.events where lane_id = $1 and kind = $2', [lane.laneId, EVENT_KIND.wake]),
  ).toHaveLength(1);
});

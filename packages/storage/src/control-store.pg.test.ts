import type { BootId, EventId, TenantId } from '@turnkeeper/core';
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

async function laneWith(...texts: string[]): Promise<{ lane: StageLane; events: EventId[] }> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  const events: EventId[] = [];
  for (const text of texts) events.push(await stage.send(lane, text));
  return { lane, events };
}
const at = (events: readonly EventId[], index: number) => events[index] ?? freshId<EventId>();
const statesOf = async (lane: StageLane) =>
  (
    await stage.rows<{ state: number }>('select state from tk.events where lane_id = $1 order by ord', [lane.laneId])
  ).map((row) => row.state);

test('a queued run is cancelled alone: the running turn and the others go on', async () => {
  const { lane, events } = await laneWith('a', 'b', 'c');
  const turn = await stage.claim(worker, lane);
  const { slot, laneId } = lane;
  expect(await stage.control.cancelRun(tenant, at(events, 1))).toEqual({
    result: 'cancelled',
    turnId: null,
    lane: { slot, tenantId: tenant, laneId },
  });
  expect(await statesOf(lane)).toEqual([0, 14, 0]);
  expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
  expect((await stage.claim(worker, lane)).events[0]?.body.text).toBe('c');
});

test('a running run takes its turn with it: what the turn still writes is refused, the next event goes on', async () => {
  const { lane, events } = await laneWith('a', 'b');
  const turn = await stage.claim(worker, lane);
  expect(await stage.control.cancelRun(tenant, at(events, 0))).toMatchObject({
    result: 'cancelled',
    turnId: turn.fence.turnId,
  });
  expect(await stage.commit(worker, turn)).toEqual({ result: 'stale' });
  expect(await stage.lanes.stillRunning([{ lane, turnId: turn.fence.turnId }])).toEqual([false]);
  expect(await stage.rows('select id, state, event_ids from tk.turns where lane_id = $1', [lane.laneId])).toEqual([
    { id: turn.fence.turnId, state: 9, event_ids: [at(events, 0)] },
  ]);
  expect(await stage.rows('select 1 from tk.messages where lane_id = $1', [lane.laneId])).toEqual([]);
  const next = await stage.claim(worker, lane);
  expect(next.events[0]?.body.text).toBe('b');
  expect(BigInt(next.fence.fence)).toBeGreaterThan(BigInt(turn.fence.fence));
});

test('a run that waits for its resume takes the resume with it', async () => {
  const { lane, events } = await laneWith('a', 'b');
  await stage.lanes.handBack(worker, [
    { ...(await stage.claim(worker, lane)), hadEffect: true, reason: 'shutdown_timeout' },
  ]);
  expect(await stage.control.cancelRun(tenant, at(events, 0))).toMatchObject({ result: 'cancelled', turnId: null });
  expect(await statesOf(lane)).toEqual([14, 0]);
  expect(await stage.claim(worker, lane)).toMatchObject({
    reason: 'message',
    resumeOf: null,
    events: [{ body: { text: 'b' } }],
  });
});

test("what has ended stays as it ended, and what is not this tenant's is missing", async () => {
  const { lane, events } = await laneWith('a');
  await stage.commit(worker, await stage.claim(worker, lane));
  expect(await stage.control.cancelRun(tenant, at(events, 0))).toEqual({ result: 'final' });
  expect(await stage.control.cancelRun(await stage.tenant('globex'), at(events, 0))).toEqual({ result: 'missing' });
  expect(await stage.control.cancelRun(tenant, freshId<EventId>())).toEqual({ result: 'missing' });
  expect(await statesOf(lane)).toEqual([10]);
});

test('a commit that holds the lane first stands, and the cancel says so', async () => {
  const { lane, events } = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const first = await stage.root.connect();
  try {
    await first.query('begin');
    await first.query('select 1 from tk.lanes where id = $1 for no key update', [lane.laneId]);
    const cancelling = stage.control.cancelRun(tenant, at(events, 0));
    await stage.blocked('cancel');
    await first.query('update tk.events set state = 10, settled_at = now() where lane_id = $1', [lane.laneId]);
    await first.query('update tk.lanes set turn_id = null, seq = seq + 1 where id = $1', [lane.laneId]);
    await first.query('commit');
    expect(await cancelling).toEqual({ result: 'final' });
  } finally {
    first.release();
  }
  expect(await stage.lanes.stillRunning([{ lane, turnId: turn.fence.turnId }])).toEqual([false]);
});

test('a step or a commit that waits behind a cancel is refused', async () => {
  const { lane, events } = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const holder = await stage.root.connect();
  try {
    await holder.query('begin');
    await holder.query("select set_config('tk.tenants', $1, true)", [tenant]);
    await holder.query('select * from tk.cancel($1, $2)', [tenant, at(events, 0)]);
    const late = stage.commit(worker, turn);
    await stage.blocked('commit');
    await holder.query('commit');
    expect(await late).toEqual({ result: 'stale' });
  } finally {
    holder.release();
  }
});

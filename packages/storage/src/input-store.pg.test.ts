import type { BootId, ClaimedTurn, InputId, MessageId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PostgresInputStore } from './input-store.ts';
import { checkInvariants } from './invariants.ts';
import { claimOf, freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let inputs: PostgresInputStore;
let sweep: PostgresInputStore;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  inputs = new PostgresInputStore(stage.engine);
  sweep = new PostgresInputStore(stage.sweep);
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(async () => {
  try {
    expect((await checkInvariants(stage.sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await stage.close();
  }
});

async function asking(waitMs = 60_000) {
  const lane = stage.lane(tenant, `lane-${names++}`);
  const eventId = await stage.send(lane, 'a');
  const turn = await stage.claim(worker, lane);
  const request = askOf(turn, waitMs);
  const asked = await inputs.ask(request);
  expect(asked).toMatchObject({ result: 'ok', expiresAt: expect.any(Date) });
  return { lane, eventId, turn, request, asked, inputId: request.inputId };
}

function askOf({ lane, fence }: ClaimedTurn, waitMs: number) {
  const question = { kind: 'question', text: 'What now?', waitMs } as const;
  return {
    lane,
    fence,
    inputId: freshId<InputId>(),
    messageId: freshId<MessageId>(),
    stepId: freshId<MessageId>(),
    question,
  };
}

const stateOf = async (lane: StageLane) =>
  stage.rows(
    'select e.state, l.turn_id, l.waits_for from tk.events e join tk.lanes l on l.id = e.lane_id where l.id = $1 order by ord',
    [lane.laneId],
  );
const expired = () => sweep.expire(10);

test('a turn that asks holds nothing: no turn, no claim, and what it still writes is refused', async () => {
  const { lane, turn, request, asked, inputId } = await asking();
  expect(await stateOf(lane)).toEqual([{ state: 2, turn_id: null, waits_for: inputId }]);
  expect(await inputs.ask(request)).toEqual({ ...asked, result: 'again' });
  expect(await stage.commit(worker, turn)).toEqual({ result: 'stale' });
  await stage.send(lane, 'b');
  expect(await stage.lanes.claim(worker, [claimOf(lane)])).toEqual([{ result: 'held' }]);
  expect(await stage.lanes.look([lane])).toEqual([false]);
  expect(await stage.lanes.running(worker)).not.toContainEqual(expect.objectContaining({ fence: turn.fence }));
});

test('the first answer counts; the turn goes on with it before everything else, and without a strike', async () => {
  const { lane, eventId, turn, inputId } = await asking();
  await stage.send(lane, 'b');
  expect(await inputs.answer(tenant, inputId, { text: 'go on' })).toMatchObject({ result: 'answered' });
  expect(await inputs.answer(tenant, inputId, { text: 'stop' })).toEqual({ result: 'closed' });
  const next = await stage.claim(worker, lane);
  expect(next).toMatchObject({ reason: 'input', resumeOf: turn.fence.turnId, sessionId: turn.sessionId });
  expect(next.events.map((event) => event.eventId)).toEqual([eventId]);
  const resolved = { outcome: 'answered', answer: { text: 'go on' }, sinceSeq: turn.seq, asked: 1 };
  expect(await inputs.resolvedFor(lane, turn.fence.turnId)).toEqual(resolved);
  expect(await stage.rows('select resumes from tk.lanes where id = $1', [lane.laneId])).toEqual([{ resumes: 0 }]);
  // a worker that is lost meanwhile does not lose the answer
  await stage.lanes.handBack(worker, [{ ...next, hadEffect: true, reason: 'shutdown_timeout' }]);
  const resumed = await stage.claim(worker, lane);
  expect(resumed.reason).toBe('resume');
  expect(await inputs.resolvedFor(lane, next.fence.turnId)).toEqual(resolved);
  expect(await stage.commit(worker, resumed)).toMatchObject({ result: 'ok', more: true });
});

test('a hand-back before any effect is owed the answer again', async () => {
  const { lane, turn, inputId } = await asking();
  await inputs.answer(tenant, inputId, { text: 'go on' });
  await stage.lanes.handBack(worker, [
    { ...(await stage.claim(worker, lane)), hadEffect: false, reason: 'shutdown_timeout' },
  ]);
  expect(await stage.claim(worker, lane)).toMatchObject({ reason: 'input', resumeOf: turn.fence.turnId });
});

test('a question whose time is over expires once, and cannot be answered any more', async () => {
  const { lane, turn, inputId } = await asking(0);
  expect(await inputs.answer(tenant, inputId, { text: 'late' })).toEqual({ result: 'closed' });
  expect((await expired()).map(({ laneId }) => laneId)).toEqual([lane.laneId]);
  expect(await expired()).toEqual([]);
  expect((await stage.claim(worker, lane)).reason).toBe('input');
  expect(await inputs.resolvedFor(lane, turn.fence.turnId)).toEqual({
    ...{ outcome: 'expired', answer: null, sinceSeq: turn.seq, asked: 1 },
  });
});

test('a stop, a reset and a cancel withdraw the question', async () => {
  for (const command of ['stop', 'reset', 'cancel'] as const) {
    const { lane, eventId, inputId } = await asking();
    await stage.send(lane, 'b', { kind: 'wake' });
    const newSessionId = freshId<ClaimedTurn['sessionId']>();
    const done =
      command === 'cancel'
        ? await stage.control.cancelRun(tenant, eventId)
        : await stage.control.control({ lane, sessionId: null, command, newSessionId, dedupe: null });
    expect(done.result).toMatch(/done|cancelled/);
    expect((await stateOf(lane))[0]).toMatchObject({ state: command === 'cancel' ? 14 : 18, waits_for: null });
    expect(await inputs.answer(tenant, inputId, { text: 'x' })).toEqual({ result: 'closed' });
    expect((await stage.claim(worker, lane)).events[0]?.body.text).toBe('b');
  }
});

test("another tenant's question is missing", async () => {
  const { inputId } = await asking();
  expect(await inputs.answer(await stage.tenant('globex'), inputId, { text: 'x' })).toEqual({ result: 'missing' });
});

describe('the call of a model that asks', () => {
  const call = { callId: 'call_1', name: 'ask_person', body: { blocks: [{ type: 'text', text: 'Let me ask.' }] } };
  const askingBy = async (waitMs = 60_000) => {
    const lane = stage.lane(tenant, `lane-${names++}`);
    const eventId = await stage.send(lane, 'a');
    const turn = await stage.claim(worker, lane);
    const request = askOf(turn, waitMs);
    await inputs.ask({ ...request, question: { ...request.question, call } });
    return { lane, eventId, turn, inputId: request.inputId };
  };
  const stepsOf = async (lane: StageLane) =>
    (
      await stage.rows<{ role: string; body: unknown }>(
        "select role, body from tk.messages where lane_id = $1 and role like 'tool%' order by seq, n",
        [lane.laneId],
      )
    ).map(({ role, body }) => [role, body]);
  const result = (text: string) => ['tool_result', { callId: 'call_1', name: 'ask_person', text }];

  test('is stored with the question, and its result with the answer; a later question counts from the first turn', async () => {
    const { lane, turn, inputId } = await askingBy();
    expect(await stepsOf(lane)).toEqual([['tool_call', call.body]]);
    await inputs.answer(tenant, inputId, { text: 'yes' });
    await inputs.answer(tenant, inputId, { text: 'no' });
    expect(await stepsOf(lane)).toEqual([['tool_call', call.body], result('yes')]);
    const next = await stage.claim(worker, lane);
    const again = askOf(next, 60_000);
    await inputs.ask({ ...again, question: { ...again.question, call } });
    await inputs.answer(tenant, again.inputId, { text: 'really' });
    const last = await stage.claim(worker, lane);
    const resolved = await inputs.resolvedFor(lane, next.fence.turnId);
    expect(resolved).toMatchObject({ answer: { text: 'really' }, sinceSeq: turn.seq, asked: 2 });
    await stage.commit(worker, last);
  });

  test.each(['expired', 'stop', 'reset', 'cancel'] as const)('has a result also when it ends by %s', async (how) => {
    const { lane, eventId, inputId } = await askingBy(how === 'expired' ? 0 : 60_000);
    const newSessionId = freshId<ClaimedTurn['sessionId']>();
    if (how === 'expired') await expired();
    else if (how === 'cancel') await stage.control.cancelRun(tenant, eventId);
    else await stage.control.control({ lane, sessionId: null, command: how, newSessionId, dedupe: null });
    expect((await stepsOf(lane)).at(-1)).toEqual(result(how === 'expired' ? 'expired' : 'cancelled'));
    expect(await inputs.answer(tenant, inputId, { text: 'x' })).toEqual({ result: 'closed' });
    if (how === 'expired') await stage.commit(worker, await stage.claim(worker, lane));
  });
});

import type { BootId, ControlRequest, InputId, MessageId, SessionId, TenantId, TypedCommand } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call } from './columns.ts';
import { PostgresInputStore } from './input-store.ts';
import { checkInvariants } from './invariants.ts';
import { freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

const NOTICES = { done: { code: 'done', text: 'Done.' }, idle: { code: 'idle', text: 'Nothing.' } };
let stage: Stage;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
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

/** A room in which each of these said a word, in this order. */
async function roomOf(...senders: string[]): Promise<StageLane> {
  const lane = stage.lane(tenant, `room-${names++}`);
  for (const userId of senders) await stage.intake.accept(worker, [said(lane, userId)]);
  return lane;
}

const said = (lane: StageLane, userId: string) =>
  message(lane, userId, {
    body: { text: userId, source: { platform: 'webchat', chatType: 'dm', chatId: 'r', userId } },
  });

function control(lane: StageLane, command: ControlRequest['command'], onlyOf: string) {
  return stage.control.control({
    ...{ lane, sessionId: null, command, newSessionId: freshId<SessionId>(), dedupe: null, onlyOf },
  });
}

function typed(lane: StageLane, onlyOf: string, over: Partial<TypedCommand> = {}) {
  const item = { ...said(lane, onlyOf), kind: 'command' as const };
  const [newSessionId, noticeId] = [freshId<SessionId>(), freshId<MessageId>()];
  const request = { item, command: 'reset', goesOn: false, newSessionId, noticeId, notices: NOTICES, onlyOf } as const;
  return stage.control.typed(worker, { ...request, ...over });
}

const statesOf = async (lane: StageLane) => {
  const text = 'select state from tk.events where lane_id = $1 order by ord';
  return (await stage.rows<{ state: number }>(text, [lane.laneId])).map(({ state }) => state);
};

const noticesOf = (lane: StageLane) =>
  stage.rows("select body ->> 'code' code from tk.messages where lane_id = $1 and role = 'notice'", [lane.laneId]);

const laneRow = (lane: StageLane) => stage.rows('select * from tk.lanes where id = $1', [lane.laneId]);

describe('stop of own work', () => {
  test('leaves the turn of another alone, and all that waits behind it, and writes nothing', async () => {
    const lane = await roomOf('ann', 'ann', 'bob');
    const turn = await stage.claim(worker, lane);
    const before = await laneRow(lane);
    expect(await control(lane, 'stop', 'bob')).toEqual({ result: 'nothing_to_stop' });
    expect(await laneRow(lane)).toEqual(before);
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
    expect(await statesOf(lane)).toEqual([10, 0, 0]);
  });

  test('takes away his message that waits first while the turn of another goes on to its end', async () => {
    const lane = await roomOf('ann', 'bob', 'bob');
    const turn = await stage.claim(worker, lane);
    expect(await control(lane, 'stop', 'bob')).toMatchObject({
      result: 'done',
      turnId: null,
      ended: [expect.any(String)],
    });
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
    expect(await statesOf(lane)).toEqual([10, 18, 0]);
  });

  test('ends his turn, and leaves the message of another that waits first', async () => {
    const lane = await roomOf('ann', 'bob');
    const turn = await stage.claim(worker, lane);
    expect(await control(lane, 'stop', 'ann')).toMatchObject({ result: 'done', turnId: turn.fence.turnId });
    expect(await stage.commit(worker, turn)).toEqual({ result: 'stale' });
    expect(await statesOf(lane)).toEqual([18, 0]);
  });

  test('leaves the resume that another is owed, and takes away his message behind it', async () => {
    const lane = await roomOf('ann', 'bob');
    const turn = await stage.claim(worker, lane);
    await stage.lanes.handBack(worker, [{ ...turn, hadEffect: true, reason: 'shutdown_timeout' }]);
    expect(await control(lane, 'stop', 'bob')).toMatchObject({ result: 'done', turnId: null });
    expect(await statesOf(lane)).toEqual([1, 18]);
    expect(await laneRow(lane)).toMatchObject([{ resume_of: turn.fence.turnId }]);
  });

  test('withdraws the question of his turn, and of nobody else’s', async () => {
    const inputs = new PostgresInputStore(stage.engine);
    const lane = await roomOf('ann');
    const { fence } = await stage.claim(worker, lane);
    const [inputId, messageId, stepId] = [freshId<InputId>(), freshId<MessageId>(), freshId<MessageId>()];
    const question = { kind: 'question', text: 'What now?', waitMs: 60_000 } as const;
    await inputs.ask({ lane, fence, inputId, messageId, stepId, question });
    expect(await control(lane, 'stop', 'bob')).toEqual({ result: 'nothing_to_stop' });
    expect(await laneRow(lane)).toMatchObject([{ waits_for: inputId }]);
    expect(await control(lane, 'stop', 'ann')).toMatchObject({ result: 'done' });
    expect(await inputs.answer(tenant, inputId, { text: 'x' })).toEqual({ result: 'closed' });
  });

  test('is no visitor’s where a wake runs', async () => {
    const lane = stage.lane(tenant, `room-${names++}`);
    await stage.send(lane, 'wake', { kind: 'wake' });
    const turn = await stage.claim(worker, lane);
    expect(await control(lane, 'stop', 'bob')).toEqual({ result: 'nothing_to_stop' });
    expect(await control(lane, 'reset', 'bob')).toEqual({ result: 'lane_busy' });
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
  });

  test('is of no other command: it is refused', async () => {
    const lane = await roomOf('bob');
    expect(await control(lane, 'suspend', 'bob')).toEqual({ result: 'lane_busy' });
  });

  test('takes the resume that is owed to him, and to nobody else, with it', async () => {
    const lane = await roomOf('ann');
    const turn = await stage.claim(worker, lane);
    await stage.lanes.handBack(worker, [{ ...turn, hadEffect: true, reason: 'shutdown_timeout' }]);
    expect(await control(lane, 'stop', 'bob')).toEqual({ result: 'nothing_to_stop' });
    expect(await control(lane, 'stop', 'ann')).toMatchObject({ result: 'done', turnId: null });
    expect(await statesOf(lane)).toEqual([18]);
  });
});

describe('a typed reset of own work', () => {
  test('is refused where somebody else’s message is under way, and says so', async () => {
    const lane = await roomOf('bob', 'ann');
    const turn = await stage.claim(worker, lane);
    expect(await typed(lane, 'bob')).toMatchObject({ result: 'accepted' });
    expect(await statesOf(lane)).toEqual([0, 0, 18]);
    expect(await noticesOf(lane)).toEqual([{ code: 'idle' }]);
    expect(await laneRow(lane)).toMatchObject([{ session_id: turn.sessionId }]);
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
  });

  test('leaves what follows the word to the session that goes on', async () => {
    const lane = await roomOf('ann');
    const turn = await stage.claim(worker, lane);
    expect(await typed(lane, 'bob', { goesOn: true })).toMatchObject({ result: 'accepted', position: 1 });
    expect(await noticesOf(lane)).toEqual([{ code: 'idle' }]);
    await stage.commit(worker, turn);
    expect(await stage.claim(worker, lane)).toMatchObject({ sessionId: turn.sessionId, events: [{ kind: 'command' }] });
  });

  test('begins a fresh session where only his own is there', async () => {
    const lane = await roomOf('bob', 'bob');
    await stage.send(lane, 'wake', { kind: 'wake' });
    await stage.claim(worker, lane);
    const newSessionId = freshId<SessionId>();
    const done = { turnId: expect.any(String), sessionId: newSessionId };
    expect(await typed(lane, 'bob', { newSessionId })).toMatchObject({ result: 'accepted', done });
    expect(await statesOf(lane)).toEqual([18, 18, 0, 18]);
  });
});

test('a suspension gives up the question that is open: the next message begins a fresh session', async () => {
  const inputs = new PostgresInputStore(stage.engine);
  const lane = await roomOf('ann', 'ann');
  const { fence, sessionId } = await stage.claim(worker, lane);
  const [inputId, messageId, stepId] = [freshId<InputId>(), freshId<MessageId>(), freshId<MessageId>()];
  await inputs.ask({
    lane,
    fence,
    inputId,
    messageId,
    stepId,
    question: { kind: 'question', text: '?', waitMs: 60_000 },
  });
  const asked = {
    lane,
    sessionId: null,
    newSessionId: freshId<SessionId>(),
    dedupe: null,
    command: 'suspend',
  } as const;
  expect(await stage.control.control(asked)).toMatchObject({ result: 'done', ended: [expect.any(String)] });
  expect(await inputs.answer(tenant, inputId, { text: 'x' })).toEqual({ result: 'closed' });
  expect(await statesOf(lane)).toEqual([18, 0]);
  const next = await stage.claim(worker, lane);
  expect(next.sessionId).not.toBe(sessionId);
  await stage.commit(worker, next);
});

test('the name of no message is that of a command’s notice', async () => {
  const lane = stage.lane(tenant, `room-${names++}`);
  const key = (name: string) => ({ ...said(lane, 'ann').dedupe, scope: tenant, key: name });
  await stage.intake.accept(worker, [{ ...said(lane, 'ann'), dedupe: key('n#notice') }]);
  await typed(lane, 'ann', { command: 'stop', item: { ...said(lane, 'ann'), kind: 'command', dedupe: key('n') } });
  expect(await noticesOf(lane)).toEqual([{ code: 'done' }]);
});

test('programs of the version before end anybody’s work, under the names that they know', async () => {
  const lane = await roomOf('ann');
  await stage.claim(worker, lane);
  const asked = [tenant, lane.slot, lane.laneId, null, 'stop', freshId(), null, null, null, null];
  expect(await stage.engine.query(call('control', 10), asked)).toMatchObject([{ result: 'done' }]);
  expect(await statesOf(lane)).toEqual([18]);
});

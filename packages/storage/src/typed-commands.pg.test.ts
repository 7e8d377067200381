import type { BootId, MessageId, SessionId, TenantId, TypedCommand } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PostgresControlStore } from './control-store.ts';
import { type Database, openDatabase } from './database.ts';
import { checkInvariants } from './invariants.ts';
import { CuttingProxy } from './testing/cutting-proxy.ts';
import { freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';
import { PostgresTranscriptStore } from './transcript-store.ts';

const NOTICES = { done: { code: 'done', text: 'Done.' }, idle: { code: 'idle', text: 'Nothing to do.' } };
let stage: Stage;
let proxy: CuttingProxy;
let engine: Database;
let control: PostgresControlStore;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  proxy = await CuttingProxy.open(stage.fresh.url);
  engine = openDatabase({ url: proxy.url, role: 'tk_engine', poolMax: 1, applicationName: 'cut' });
  control = new PostgresControlStore(engine);
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(async () => {
  try {
    expect((await checkInvariants(stage.sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await engine.close();
    await proxy.close();
    await stage.close();
  }
});

const newLane = () => stage.lane(tenant, `typed-${names++}`);

function typed(lane: StageLane, text: string, over: Partial<TypedCommand> = {}): TypedCommand {
  const [newSessionId, noticeId] = [freshId<SessionId>(), freshId<MessageId>()];
  const item = message(lane, text, { kind: 'command' });
  return { item, command: 'stop', goesOn: false, newSessionId, noticeId, notices: NOTICES, ...over };
}

const noticesOf = (lane: StageLane) =>
  stage.rows("select body ->> 'code' code from tk.messages where lane_id = $1 and role = 'notice' order by seq", [
    lane.laneId,
  ]);
const statesOf = async (lane: StageLane) => {
  const rows = await stage.rows<{ state: number }>('select state from tk.events where lane_id = $1 order by ord', [
    lane.laneId,
  ]);
  return rows.map(({ state }) => state);
};

test('a typed stop ends the turn and the next waiting message, and says so in the same transaction', async () => {
  const lane = newLane();
  for (const text of ['a', 'b', 'c']) await stage.send(lane, text);
  const turn = await stage.claim(worker, lane);
  const result = await control.typed(worker, typed(lane, '/stop'));
  const ended = [turn.events[0]?.eventId, expect.any(String)];
  expect(result).toMatchObject({ result: 'accepted', position: 0, done: { turnId: turn.fence.turnId, ended } });
  expect(await statesOf(lane)).toEqual([18, 18, 0, 18]);
  expect(await noticesOf(lane)).toEqual([{ code: 'done' }]);
  expect(await stage.commit(worker, turn)).toMatchObject({ result: 'stale' });
});

test('where nothing runs or waits it is accepted and says that, also in a conversation that never was', async () => {
  const lane = newLane();
  expect(await control.typed(worker, typed(lane, '/stop'))).toMatchObject({
    result: 'accepted',
    done: { turnId: null },
  });
  expect(await noticesOf(lane)).toEqual([{ code: 'idle' }]);
  expect(await stage.lanes.look([lane])).toEqual([false]);
});

test('what follows /new is the first message of the fresh session; what people said before is dropped, wakes stay', async () => {
  const lane = newLane();
  await stage.send(lane, 'a');
  const before = await stage.claim(worker, lane);
  await stage.commit(worker, before);
  await stage.send(lane, 'b');
  await stage.send(lane, 'wake', { kind: 'wake' });
  const request = typed(lane, 'topic', { command: 'reset', goesOn: true });
  expect(await control.typed(worker, request)).toMatchObject({ result: 'accepted', position: 1 });
  expect(await statesOf(lane)).toEqual([10, 18, 0, 0]);
  expect(await noticesOf(lane)).toEqual([]);
  await stage.commit(worker, await stage.claim(worker, lane));
  const first = await stage.claim(worker, lane);
  expect(first).toMatchObject({
    sessionId: request.newSessionId,
    events: [{ kind: 'command', body: { text: 'topic' } }],
  });
  await stage.commit(worker, first);
});

test('a command whose answer was lost is done once, and one that comes again is the first one', async () => {
  const lane = newLane();
  await stage.send(lane, 'a');
  await stage.send(lane, 'b');
  const request = typed(lane, '/stop');
  await engine.query({ name: 'wake', text: 'select 1' }, []);
  proxy.loseNextAnswer();
  await expect(control.typed(worker, request)).rejects.toMatchObject({ failure: 'unknown', retryable: true });
  expect(await control.typed(worker, request)).toMatchObject({ result: 'accepted', done: null });
  const again = typed(lane, '/stop');
  const item = { ...again.item, dedupe: request.item.dedupe };
  expect(await control.typed(worker, { ...again, item })).toMatchObject({
    ...{ result: 'duplicate', eventId: request.item.eventId },
  });
  const other = { ...item.dedupe, bodyHash: new Uint8Array([9]) };
  expect(await control.typed(worker, { ...again, item: { ...item, dedupe: other } })).toMatchObject({
    result: 'mismatch',
  });
  expect(await statesOf(lane)).toEqual([18, 0, 18]);
  expect(await noticesOf(lane)).toEqual([{ code: 'done' }]);
  await stage.commit(worker, await stage.claim(worker, lane));
});

describe('a switch', () => {
  const sessionsOf = (lane: StageLane) =>
    stage.rows(
      'select id, status, end_reason, ended_at is null living from tk.sessions where lane_id = $1 order by created_at, id',
      [lane.laneId],
    );
  const turnIn = async (lane: StageLane, text: string) => {
    await stage.send(lane, text);
    const turn = await stage.claim(worker, lane);
    await stage.commit(worker, turn);
    return turn.sessionId;
  };
  const to = (from: SessionId | null, target: SessionId) => ({ from, to: target, endReason: 'session_switch' });
  /** A lane with two sessions, the first one over. */
  const twoSessions = async () => {
    const lane = newLane();
    const first = await turnIn(lane, 'a');
    await control.typed(worker, typed(lane, '/new', { command: 'reset' }));
    return { lane, first, second: await turnIn(lane, 'b') };
  };

  test('ends the present session, opens the other one again, and the next turn is in it and knows only its words', async () => {
    const { lane, first, second } = await twoSessions();
    await stage.send(lane, 'c');
    const running = await stage.claim(worker, lane);
    await stage.send(lane, 'd');
    const result = await control.typed(worker, typed(lane, '/resume x', { command: to(second, first) }));
    expect(result).toMatchObject({ result: 'accepted', done: { turnId: running.fence.turnId, sessionId: first } });
    expect(await stage.commit(worker, running)).toMatchObject({ result: 'stale' });
    expect(await sessionsOf(lane)).toEqual([
      { id: first, status: 'active', end_reason: null, living: true },
      { id: second, status: 'archived', end_reason: 'session_switch', living: false },
    ]);
    const marks = 'select kind, session_id, body from tk.lane_marks where lane_id = $1 order by seq desc limit 1';
    expect(await stage.rows(marks, [lane.laneId])).toEqual([
      { kind: 'session.resumed', session_id: first, body: { previousSessionId: second, reason: 'command' } },
    ]);
    await stage.send(lane, 'e');
    const next = await stage.claim(worker, lane);
    expect([next.sessionId, next.events.map(({ body }) => body['text'])]).toEqual([first, ['e']]);
    const transcripts = new PostgresTranscriptStore(stage.engine);
    const [entries] = await transcripts.recent([{ lane, sessionId: first, beforeSeq: next.seq }], 3);
    expect(entries?.map(({ role, body }) => [role, (body as { text: string }).text])).toEqual([
      ['user', 'a'],
      ['assistant', expect.any(String)],
      ['notice', 'Done.'],
    ]);
    await stage.commit(worker, next);
  });

  test('from a session that the lane has no more, or to one that is not its own, does nothing at all', async () => {
    const { lane, first, second } = await twoSessions();
    const foreign = (await twoSessions()).first;
    const rows = () => stage.rows('select z.*, z.xmin::text from tk.lanes z where id = $1', [lane.laneId]);
    const before = [await rows(), await statesOf(lane), await sessionsOf(lane)];
    for (const command of [to(first, second), to(null, first), to(second, foreign), to(second, freshId<SessionId>())])
      expect(await control.typed(worker, typed(lane, '/resume x', { command }))).toEqual({ result: 'moved' });
    expect([await rows(), await statesOf(lane), await sessionsOf(lane)]).toEqual(before);
    // the key of what was not accepted is free
    const request = typed(lane, '/resume x', { command: to(first, second) });
    await control.typed(worker, request);
    const again = { ...request, command: to(second, first) };
    expect(await control.typed(worker, again)).toMatchObject({ result: 'accepted', done: { sessionId: first } });
    expect(await control.typed(worker, { ...again, command: 'answer' })).toMatchObject({
      result: 'accepted',
      done: null,
    });
  });

  test('is not done where it would end what another has under way', async () => {
    const { lane, first, second } = await twoSessions();
    await stage.send(lane, 'c');
    const turn = await stage.claim(worker, lane);
    await control.typed(worker, typed(lane, '/resume x', { command: to(second, first), onlyOf: 'ann' }));
    expect((await noticesOf(lane)).at(-1)).toEqual({ code: 'idle' });
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
  });

  test('goes back also to the present session when that is over, and no idle time ends it at once', async () => {
    const { lane, second } = await twoSessions();
    const ask = { lane, sessionId: null, newSessionId: freshId<SessionId>(), dedupe: null } as const;
    await control.control({ ...ask, command: 'archive' });
    await stage.rows("update tk.lanes set last_activity_at = now() - interval '9 days' where id = $1", [lane.laneId]);
    expect(await control.sessionsOf(lane, null, 1)).toMatchObject([
      { sessionId: second, isCurrent: true, isOver: true },
    ]);
    await control.typed(worker, typed(lane, '/resume x', { command: to(second, second) }));
    const fresh =
      "select 1 from tk.lanes where id = $1 and last_activity_at > now() - interval '1 day' and not suspended";
    expect(await stage.rows(fresh, [lane.laneId])).toHaveLength(1);
    expect(await turnIn(lane, 'c')).toBe(second);
  });

  test('has sessions to choose from: the last ones, the present one, and the one that is asked for if it is the lane’s', async () => {
    const { lane, first, second } = await twoSessions();
    const foreign = (await twoSessions()).first;
    const shown = async (wanted: SessionId | null, limit: number) =>
      (await control.sessionsOf(lane, wanted, limit)).map(({ sessionId, words }) => [sessionId, words]);
    expect(await shown(null, 1)).toEqual([[second, 'b']]);
    expect(await shown(foreign, 1)).toEqual([[second, 'b']]);
    expect(await shown(first, 1)).toEqual([
      [second, 'b'],
      [first, 'a'],
    ]);
    await control.typed(worker, typed(lane, '/resume x', { command: to(second, first) }));
    expect(await shown(null, 10)).toEqual([
      [first, 'a'],
      [second, 'b'],
    ]);
    expect(await control.sessionsOf(newLane(), first, 10)).toEqual([]);
  });

  test('of nothing only says so', async () => {
    const { lane, second } = await twoSessions();
    await stage.send(lane, 'c');
    const turn = await stage.claim(worker, lane);
    await control.typed(worker, typed(lane, '/resume', { command: 'answer' }));
    expect((await noticesOf(lane)).at(-1)).toEqual({ code: 'done' });
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
    expect(await turnIn(lane, 'd')).toBe(second);
  });
});

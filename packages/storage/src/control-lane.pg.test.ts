import type {
  AccountId,
  BootId,
  ControlRequest,
  ControlResult,
  EventId,
  MessageId,
  OutboundRequest,
  SessionId,
  TenantId,
} from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call } from './columns.ts';
import { checkInvariants } from './invariants.ts';
import { PostgresTenantErasure } from './tenant-erasure.ts';
import { claimOf, freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

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

async function laneWith(...texts: string[]): Promise<{ lane: StageLane; events: EventId[] }> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  const events: EventId[] = [];
  for (const text of texts) events.push(await stage.send(lane, text));
  return { lane, events };
}

function control(lane: StageLane, command: ControlRequest['command'], over: Partial<ControlRequest> = {}) {
  const newSessionId = freshId<SessionId>();
  return stage.control.control({ lane, sessionId: null, command, newSessionId, dedupe: null, ...over });
}

function say(lane: StageLane, text: string, over: Partial<OutboundRequest> = {}) {
  const messageId = freshId<MessageId>();
  return stage.control.sendOutbound({
    ...{ lane, sessionId: null, newSessionId: freshId<SessionId>(), messageId, author: 'agent', body: { text } },
    ...{ accountId: null, dedupe: { scope: tenant, key: messageId, bodyHash: new Uint8Array([1]) } },
    undeliveredMax: 100,
    ...over,
  });
}

const done = (result: ControlResult) => {
  if (result.result !== 'done') throw new Error(result.result);
  return result;
};
const statesOf = async (lane: StageLane) =>
  (
    await stage.rows<{ state: number }>('select state from tk.events where lane_id = $1 order by ord', [lane.laneId])
  ).map((row) => row.state);
const marksOf = async (lane: StageLane) =>
  (
    await stage.rows<{ kind: string }>('select kind from tk.lane_marks where lane_id = $1 order by seq, n', [
      lane.laneId,
    ])
  ).map((row) => row.kind);

describe('stop', () => {
  test('ends the turn and the first waiting message of a person; what the turn still writes is refused', async () => {
    const { lane, events } = await laneWith('a', 'b', 'c');
    const turn = await stage.claim(worker, lane);
    const stopped = done(await control(lane, 'stop'));
    expect(stopped).toMatchObject({ turnId: turn.fence.turnId, ended: [events[0], events[1]] });
    expect(await statesOf(lane)).toEqual([18, 18, 0]);
    expect(await stage.commit(worker, turn)).toEqual({ result: 'stale' });
    const ends = await stage.rows('select distinct end_seq from tk.events where lane_id = $1 and state = 18', [
      lane.laneId,
    ]);
    expect(ends).toEqual([{ end_seq: stopped.seq }]);
    expect((await stage.claim(worker, lane)).events[0]?.body.text).toBe('c');
  });

  test('leaves wakes, and a first waiting one keeps the messages behind it', async () => {
    const { lane } = await laneWith('a');
    await stage.send(lane, 'wake', { kind: 'wake' });
    await stage.send(lane, 'b');
    await stage.claim(worker, lane);
    done(await control(lane, 'stop'));
    expect(await statesOf(lane)).toEqual([18, 0, 0]);
  });

  test('takes the resume that is owed with it', async () => {
    const { lane } = await laneWith('a');
    const turn = await stage.claim(worker, lane);
    await stage.lanes.handBack(worker, [{ ...turn, hadEffect: true, reason: 'shutdown_timeout' }]);
    expect(done(await control(lane, 'stop'))).toMatchObject({ turnId: null, ended: [turn.events[0]?.eventId] });
    expect(await stage.lanes.claim(worker, [claimOf(lane)])).toEqual([{ result: 'empty' }]);
  });

  test('says so where nothing is to be stopped, and changes nothing; a commit that came first stands', async () => {
    const { lane } = await laneWith('a');
    await stage.commit(worker, await stage.claim(worker, lane));
    const before = await stage.rows('select * from tk.lanes where id = $1', [lane.laneId]);
    expect(await control(lane, 'stop')).toEqual({ result: 'nothing_to_stop' });
    expect(await stage.rows('select * from tk.lanes where id = $1', [lane.laneId])).toEqual(before);
    expect(await statesOf(lane)).toEqual([10]);
  });
});

describe('reset', () => {
  test('drops all that people wait for, keeps wakes, and begins a fresh session in the same transaction', async () => {
    const { lane } = await laneWith('a', 'b', 'c');
    await stage.send(lane, 'wake', { kind: 'wake' });
    const turn = await stage.claim(worker, lane);
    const newSessionId = freshId<SessionId>();
    expect(done(await control(lane, 'reset', { newSessionId }))).toMatchObject({ sessionId: newSessionId });
    expect(await statesOf(lane)).toEqual([18, 18, 18, 0]);
    expect(await stage.claim(worker, lane)).toMatchObject({ sessionId: newSessionId, reason: 'wake' });
    expect(
      await stage.rows('select status, ended_at is not null as ended from tk.sessions where id = $1', [turn.sessionId]),
    ).toEqual([{ status: 'archived', ended: true }]);
    expect(await marksOf(lane)).toEqual(['session.started', 'session.reset']);
  });

  test('of a conversation at rest begins a fresh session, once per key', async () => {
    const { lane } = await laneWith();
    await stage.send(lane, 'a');
    const dedupe = { scope: tenant, key: `reset-${lane.laneId}`, bodyHash: new Uint8Array([1]) };
    const first = done(await control(lane, 'reset', { dedupe }));
    expect(await control(lane, 'reset', { dedupe })).toEqual({ result: 'duplicate' });
    const other = { ...dedupe, bodyHash: new Uint8Array([2]) };
    expect(await control(lane, 'reset', { dedupe: other })).toEqual({ result: 'mismatch' });
    const rows = await stage.rows('select session_id from tk.lanes where id = $1', [lane.laneId]);
    expect(rows).toEqual([{ session_id: first.sessionId }]);
  });
});

describe('pause', () => {
  test('keeps events without a turn until it is taken back; a running turn ends as it would', async () => {
    const { lane } = await laneWith('a');
    const turn = await stage.claim(worker, lane);
    done(await control(lane, 'pause'));
    expect(await control(lane, 'pause')).toEqual({ result: 'same' });
    await stage.send(lane, 'b');
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
    expect(await stage.lanes.claim(worker, [claimOf(lane)])).toEqual([{ result: 'held' }]);
    expect(await stage.lanes.look([lane])).toEqual([false]);
    done(await control(lane, 'unpause'));
    expect(await stage.lanes.look([lane])).toEqual([true]);
    expect((await stage.claim(worker, lane)).events[0]?.body.text).toBe('b');
    expect(await marksOf(lane)).toEqual(['session.started', 'session.updated', 'session.updated']);
  });
});

describe('suspend', () => {
  test('lets the next message begin a fresh session, unless it is taken back', async () => {
    const { lane } = await laneWith('a');
    const first = await stage.claim(worker, lane);
    await stage.commit(worker, first);
    done(await control(lane, 'suspend'));
    done(await control(lane, 'resume'));
    await stage.send(lane, 'b');
    const second = await stage.claim(worker, lane);
    expect(second.sessionId).toBe(first.sessionId);
    // and a turn that is handed back does not take the mark away
    done(await control(lane, 'suspend'));
    await stage.lanes.handBack(worker, [{ ...second, hadEffect: false, reason: 'shutdown_timeout' }]);
    expect((await stage.claim(worker, lane)).sessionId).not.toBe(first.sessionId);
    const marks = ['session.started', 'session.suspended', 'session.resumed', 'session.suspended', 'session.started'];
    expect(await marksOf(lane)).toEqual(marks);
  });
});

describe('archive', () => {
  test('closes the session; the next message begins one that is linked to it', async () => {
    const { lane } = await laneWith('a');
    expect(await control(lane, 'archive')).toEqual({ result: 'no_session' });
    const turn = await stage.claim(worker, lane);
    expect(await control(lane, 'archive')).toEqual({ result: 'lane_busy' });
    await stage.commit(worker, turn);
    done(await control(lane, 'archive'));
    expect(await control(lane, 'archive')).toEqual({ result: 'same' });
    expect(await control(lane, 'resume')).toEqual({ result: 'past' });
    await stage.send(lane, 'b');
    const next = await stage.claim(worker, lane);
    expect(await stage.rows('select previous_id from tk.sessions where id = $1', [next.sessionId])).toEqual([
      { previous_id: turn.sessionId },
    ]);
    expect(await control(lane, 'archive', { sessionId: turn.sessionId })).toEqual({ result: 'past' });
  });
});

describe('a label', () => {
  test('is unique among the conversations of an agent, also when two ask at once', async () => {
    const { lane } = await laneWith('a');
    const { lane: other } = await laneWith('b');
    const both = await Promise.all([control(lane, { label: 'one' }), control(other, { label: 'one' })]);
    expect(both.map(({ result }) => result).sort()).toEqual(['done', 'label_in_use']);
    const holder = both[0]?.result === 'done' ? lane : other;
    done(await control(holder, { label: null }));
    done(await control(holder === lane ? other : lane, { label: 'one' }));
  });
});

describe('erase', () => {
  test('waits for what is under way, then leaves no word of the conversation; the promises stay checkable', async () => {
    const { lane } = await laneWith('secret');
    const turn = await stage.claim(worker, lane);
    expect(await control(lane, 'erase')).toEqual({ result: 'lane_busy' });
    await stage.commit(worker, turn);
    done(await control(lane, 'erase'));
    const rows = await Promise.all(
      ['lanes', 'events', 'messages', 'sessions', 'lane_marks'].map((table) =>
        stage.rows(`select x::text as row from tk.${table} x where x.tenant_id = $1`, [tenant]),
      ),
    );
    expect(JSON.stringify(rows)).not.toContain('secret');
    await stage.send(lane, 'again');
    expect((await stage.claim(worker, lane)).sessionId).not.toBe(turn.sessionId);
  });
});

test('an erasing that its node left behind is gone on with, a few rows at a time', async () => {
  const { lane } = await laneWith('a secret', 'b secret', 'c secret');
  for (let turn = 0; turn < 3; turn++) await stage.commit(worker, await stage.claim(worker, lane));
  const asked = [tenant, lane.slot, lane.laneId, null, 'erase', freshId(), null, null, null, null];
  await stage.engine.query(call('control', 10), asked);
  const erasure = new PostgresTenantErasure(stage.sweep);
  const counts = [];
  do counts.push(await erasure.conversations(1));
  while (counts.at(-1) !== 0);
  expect(counts.length).toBeGreaterThan(3);
  const words = await stage.rows(
    "select body from (select body, lane_id from tk.events union all select body, lane_id from tk.messages) x where lane_id = $1 and body::text like '%secret%'",
    [lane.laneId],
  );
  expect(words).toEqual([]);
});

describe('outbound', () => {
  test('is stored in the order of the lane, owed behind what stands before it, and once per key', async () => {
    const { lane } = await laneWith('a');
    const accountId = freshId<AccountId>();
    const turn = await stage.claim(worker, lane);
    const dedupe = { scope: tenant, key: `out-${lane.laneId}`, bodyHash: new Uint8Array([1]) };
    const sent = await say(lane, 'first', { accountId, dedupe });
    expect(sent).toMatchObject({ result: 'sent', sessionId: turn.sessionId, isOwed: true });
    expect(await say(lane, 'first', { accountId, dedupe })).toEqual({ ...sent, result: 'duplicate' });
    const changed = { ...dedupe, bodyHash: new Uint8Array([2]) };
    expect(await say(lane, 'x', { accountId, dedupe: changed })).toEqual({ result: 'mismatch' });
    expect(await stage.commit(worker, turn, { owed: { kind: 'send', accountId, sendNow: true } })).toMatchObject({
      result: 'ok',
      delivery: 'pending',
    });
    const due = await stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });
    expect(due.map(({ body, turnId }) => [body.text, turnId])).toEqual([['first', null]]);
    const [head] = due;
    if (head === undefined) throw new Error('nothing due');
    await stage.deliveries.settle(worker, [{ ...head, outcome: { state: 'delivered', ref: null } }]);
    const next = await stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });
    expect(next.map(({ body }) => body.text)).toEqual(['re: a']);
    await stage.deliveries.settle(worker, next.map((row) => ({ ...row, outcome: { state: 'delivered', ref: null } }))); // biome-ignore format: one thought
  });

  test('goes into a paused conversation and disturbs no turn; an archived one begins afresh', async () => {
    const { lane } = await laneWith('a');
    const turn = await stage.claim(worker, lane);
    await control(lane, 'pause');
    expect(await say(lane, 'a person speaks', { author: 'human' })).toMatchObject({ result: 'sent', isOwed: false });
    expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
    await control(lane, 'archive');
    const fresh = await say(lane, 'news', { author: 'system' });
    if (fresh.result !== 'sent') throw new Error(fresh.result);
    expect(fresh.sessionId).not.toBe(turn.sessionId);
    expect(await say({ ...lane, laneId: freshId() }, 'x')).toEqual({ result: 'missing' });
    expect(await say(lane, 'x', { sessionId: turn.sessionId })).toEqual({ result: 'past' });
  });

  test('is refused while too many of the lane are undelivered, and its key is then free again', async () => {
    const { lane } = await laneWith('a');
    const accountId = freshId<AccountId>();
    await say(lane, 'one', { accountId, undeliveredMax: 1 });
    const dedupe = { scope: tenant, key: `full-${lane.laneId}`, bodyHash: new Uint8Array([1]) };
    const two = { accountId, dedupe, undeliveredMax: 1 };
    expect(await say(lane, 'two', two)).toEqual({ result: 'full' });
    const due = await stage.deliveries.claimDue(worker, { partitions: [], limit: 10, lanes: [lane] });
    await stage.deliveries.settle(worker, due.map((row) => ({ ...row, outcome: { state: 'delivered', ref: null } }))); // biome-ignore format: one thought
    expect(await say(lane, 'two', two)).toMatchObject({ result: 'sent', isOwed: true });
  });
});

test("a command to another tenant's lane finds none and changes nothing", async () => {
  const { lane } = await laneWith('a');
  const foreign = { ...lane, tenantId: await stage.tenant('globex') };
  const before = await stage.rows('select * from tk.lanes where id = $1', [lane.laneId]);
  for (const command of ['stop', 'reset', 'pause', 'suspend', 'archive', 'erase'] as const) {
    expect(await control(foreign, command)).toEqual({ result: 'missing' });
  }
  expect(
    await say(foreign, 'x', { dedupe: { scope: foreign.tenantId, key: 'x', bodyHash: new Uint8Array() } }),
  ).toEqual({
    result: 'missing',
  });
  expect(await stage.rows('select * from tk.lanes where id = $1', [lane.laneId])).toEqual(before);
});

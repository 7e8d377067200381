import type {
  AcceptItem,
  BootId,
  ClaimedTurn,
  MessageId,
  SessionId,
  TenantId,
  TranscriptRequest,
} from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';
import { PostgresTranscriptStore } from './transcript-store.ts';

let stage: Stage;
let transcripts: PostgresTranscriptStore;
let acme: TenantId;
let worker: BootId;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  transcripts = new PostgresTranscriptStore(stage.engine);
  acme = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(() => stage.close());

const requestOf = (turn: ClaimedTurn): TranscriptRequest => ({ ...turn, beforeSeq: turn.seq });

async function said(turn: ClaimedTurn, limit = 100): Promise<string[]> {
  const [entries = []] = await transcripts.recent([requestOf(turn)], limit);
  return entries.map(({ role, body }) => `${role} ${(body as { text: string }).text}`);
}

async function talk(lane: StageLane, text: string): Promise<ClaimedTurn> {
  await stage.send(lane, text);
  const turn = await stage.claim(worker, lane);
  await stage.commit(worker, turn);
  return turn;
}

test('a turn finds what its session held before it, in the order of the turns, and not itself nor what waits', async () => {
  const lane = stage.lane(acme, 'order');
  await talk(lane, 'one');
  await stage.send(lane, 'two');
  const stepped = await stage.claim(worker, lane);
  const step = { lane: stepped.lane, fence: stepped.fence, seq: stepped.seq };
  await stage.lanes.append([
    { ...step, messageId: freshId<MessageId>(), n: 1, role: 'tool_call', body: { text: 'look' } },
    { ...step, messageId: freshId<MessageId>(), n: 2, role: 'tool_result', body: { text: 'seen' } },
  ]);
  await stage.commit(worker, stepped, { status: 'error', reply: null, error: { code: 'model_error' } });
  for (const text of ['three', 'four']) await stage.send(lane, text);
  const turn = await stage.claim(worker, lane);
  const whole = ['user one', 'assistant re: one', 'user two', 'tool_call look', 'tool_result seen'];
  expect(await said(turn)).toEqual(whole);
  expect(await said(turn, 2)).toEqual(whole.slice(-2));
  expect(await said(stepped)).toEqual(whole.slice(0, 2));
});

test('what a turn had said is kept once when somebody ended it, for people and not for models, else not at all', async () => {
  const lane = stage.lane(acme, 'cut');
  await talk(lane, 'one');
  const event = await stage.send(lane, 'two');
  const turn = await stage.claim(worker, lane);
  const wordsOf = ({ fence }: ClaimedTurn) => ({
    ...{ lane: turn.lane, turnId: fence.turnId, messageId: freshId<MessageId>(), text: 'I was about' },
  });
  expect(await transcripts.keepWords(wordsOf(turn))).toBeNull();
  await stage.control.cancelRun(acme, event);
  const words = wordsOf(turn);
  const seq = await transcripts.keepWords(words);
  expect(Number(seq)).toBeGreaterThan(Number(turn.seq));
  expect(await transcripts.keepWords(words)).toBeNull();
  expect(
    await stage.rows('select role, seq::text, turn_id, dstate, body from tk.messages where id = $1', [words.messageId]),
  ).toEqual([
    {
      role: 'assistant',
      seq,
      turn_id: null,
      dstate: null,
      body: { text: 'I was about', cut: true, turnId: words.turnId },
    },
  ]);
  await stage.send(lane, 'three');
  const next = await stage.claim(worker, lane);
  expect(await said(next)).toEqual(['user one', 'assistant re: one']);
  await stage.commit(worker, next);
  expect(await transcripts.keepWords(wordsOf(next))).toBeNull();
});

test('of what came before in a lane one is told who wrote it, and whether it was answered', async () => {
  const lane = stage.lane(acme, 'bots');
  const source = { platform: 'api', chatType: 'dm' };
  const said = async (body: Partial<AcceptItem['body']>, over: Partial<AcceptItem>, status: 'ok' | 'error') => {
    await stage.send(lane, 'x', { body: { text: 'x', source, ...body }, ...over });
    await stage.commit(worker, await stage.claim(worker, lane), status === 'ok' ? {} : { status, reply: null });
  };
  await said({}, {}, 'ok');
  await said({ source: { ...source, isBot: true } }, {}, 'ok');
  await said({ hops: 2 }, {}, 'error');
  await said({}, { kind: 'wake' }, 'ok');
  await stage.send(lane, 'last');
  const turn = await stage.claim(worker, lane);
  const ord = turn.events[0]?.ord ?? '';
  const look = { lane, ord, withinMs: 60_000, limit: 10 };
  const bot = { byPerson: false, answered: true };
  const none = { byPerson: false, answered: false };
  const nobody = { ...look, lane: stage.lane(await stage.tenant('other'), 'bots') };
  const all = [none, none, bot, { byPerson: true, answered: true }];
  expect(await transcripts.earlier([look, { ...look, limit: 1 }, nobody, look])).toEqual([all, [none], [], all]);
  await stage.rows("update tk.events set accepted_at = now() - interval '1 hour' where lane_id = $1", [lane.laneId]);
  expect(await transcripts.earlier([look])).toEqual([[]]);
});

test('a reply with a code is a notice of the system', async () => {
  const lane = stage.lane(acme, 'silence');
  await stage.send(lane, 'hello');
  const reply = { code: 'no_reply', text: 'nothing' };
  await stage.commit(worker, await stage.claim(worker, lane), { status: 'no_reply', reply });
  expect(await stage.rows('select role, dstate from tk.messages where lane_id = $1', [lane.laneId])).toEqual([
    { role: 'notice', dstate: 2 },
  ]);
});

test('what was cancelled or handed back is not part of it; what was handed back comes with the turn that ends it', async () => {
  const lane = stage.lane(acme, 'cancelled');
  for (const text of ['stopped', 'dropped', 'again']) await stage.send(lane, text);
  const stopped = await stage.claim(worker, lane);
  await stage.control.cancelRun(acme, stopped.events[0]?.eventId ?? freshId());
  const dropped = await stage.claim(worker, lane);
  await stage.lanes.handBack(worker, [{ ...dropped, hadEffect: false, reason: 'local_failure' }]);
  const again = await stage.claim(worker, lane);
  expect(await said(again)).toEqual([]);
  await stage.commit(worker, again);
  expect(await said(await stage.claim(worker, lane))).toEqual(['user dropped', 'assistant re: dropped']);
});

test('a fresh session starts with nothing, and the old one keeps what it had', async () => {
  const lane = stage.lane(acme, 'fresh');
  const old = await talk(lane, 'old');
  await stage.rows('update tk.lanes set suspended = true where id = $1', [lane.laneId]);
  const fresh = await talk(lane, 'new');
  expect(fresh.sessionId).not.toBe(old.sessionId);
  await stage.send(lane, 'newer');
  const turn = await stage.claim(worker, lane);
  expect(await said(turn)).toEqual(['user new', 'assistant re: new']);
  expect(await said({ ...turn, sessionId: old.sessionId })).toEqual(['user old', 'assistant re: old']);
});

test('many lanes of many tenants are read at once, each its own', async () => {
  const globex = await stage.tenant('globex');
  const lanes = [stage.lane(acme, 'a'), stage.lane(globex, 'b'), stage.lane(acme, 'c'), stage.lane(globex, 'd')];
  for (const lane of lanes.slice(0, 3)) await talk(lane, lane.sessionKey);
  const turns: ClaimedTurn[] = [];
  for (const lane of lanes) {
    await stage.send(lane, 'now');
    turns.push(await stage.claim(worker, lane));
  }
  const found = await transcripts.recent(turns.map(requestOf), 100);
  expect(found.map((entries) => entries.map(({ body }) => (body as { text: string }).text))).toEqual([
    ['a', 're: a'],
    ['b', 're: b'],
    ['c', 're: c'],
    [],
  ]);
  const [a] = turns;
  if (a === undefined) throw new Error('no turn');
  const foreign = { ...requestOf(a), lane: { ...a.lane, tenantId: globex } };
  const unknown = { ...requestOf(a), sessionId: freshId<SessionId>() };
  expect(await transcripts.recent([foreign, unknown], 100)).toEqual([[], []]);
  expect(await transcripts.recent([], 100)).toEqual([]);
});

test('a read walks the rows that it returns, not all that the lane ever held', async () => {
  const lane = stage.lane(acme, 'long');
  await talk(lane, 'first');
  await stage.rows(
    `insert into tk.events (slot, tenant_id, lane_id, id, state, session_id, seq, body)
       select slot, tenant_id, lane_id, gen_random_uuid(), 10, gen_random_uuid(), 2, body from tk.events, generate_series(1, 20000) where lane_id = $1`,
    [lane.laneId],
  );
  await stage.rows('update tk.lanes set suspended = true, seq = 100000 where id = $1', [lane.laneId]);
  await stage.send(lane, 'now');
  const turn = await stage.claim(worker, lane);
  const { lane: at, sessionId } = turn;
  const reads = await stage.engine.transaction(async (tx) => {
    const values = [acme, [at.slot], [acme], [at.laneId], [sessionId], [turn.seq], 50];
    const [before] = await tx.query<{ n: number }>(READS, []);
    await tx.query({ name: 't', text: 'select * from tk.transcript($1, $2, $3, $4, $5, $6, $7)' }, values);
    const [after] = await tx.query<{ n: number }>(READS, []);
    return (after?.n ?? 0) - (before?.n ?? 0);
  });
  expect(reads).toBeGreaterThanOrEqual(50);
  expect(reads).toBeLessThan(200);
});

/** Entries of the indexes on events that this transaction read. */
const READS = {
  name: 'reads',
  text: "select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int n from pg_index where indrelid = 'tk.events'::regclass",
};

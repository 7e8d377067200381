import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BootId, decideRoute, LaneRef, SessionId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { claimOf, decided, freshId, openStage, type Policy, type Stage, type StageLane } from './testing/index.ts';

let stage: Stage;
let boot: BootId;
let serial = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  boot = await stage.worker();
});
afterAll(() => stage.close());

const claim = (lane: LaneRef, reset: Policy['reset'] = null) => stage.claim(boot, lane, { reset });

async function newLane(): Promise<StageLane> {
  return stage.lane(await stage.tenant(`route-${++serial}`), 'key');
}

/** A lane in whose first session a turn was answered. */
async function spoken(): Promise<{ lane: StageLane; first: SessionId }> {
  const lane = await newLane();
  await stage.send(lane, 'hello');
  const turn = await claim(lane);
  await stage.commit(boot, turn);
  return { lane, first: turn.sessionId };
}

const set = (lane: LaneRef, what: string, values: unknown[] = []) =>
  stage.rows(`update tk.lanes set ${what} where id = $1`, [lane.laneId, ...values]);
const agentResets = ({ agentId, tenantId }: StageLane) =>
  stage.rows("insert into tk.agents (id, tenant_id, name, version, resets) values ($1, $2, 'a', 1, true)", [
    agentId,
    tenantId,
  ]);
const sessionsOf = ({ laneId }: LaneRef) =>
  stage.rows<{
    id: string;
    previous_id: string | null;
    status: string;
    end_reason: string | null;
    started_reason: string;
  }>(
    'select id, previous_id, status, end_reason, started_reason from tk.sessions where lane_id = $1 order by created_at, id',
    [laneId],
  );
/** Behind the one of its first session. */
const marksOf = ({ laneId }: LaneRef) =>
  stage.rows<{ kind: string; body: object; seq: string }>(
    'select kind, body, seq from tk.lane_marks where lane_id = $1 order by seq, n offset 1',
    [laneId],
  );

describe('the session of a claimed event', () => {
  it('is the one that the lane has, and a first one is nobody’s successor', async () => {
    const { lane, first } = await spoken();
    await stage.send(lane, 'again');
    expect((await claim(lane)).sessionId).toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([{ previous_id: null, status: 'active', started_reason: 'first' }]);
    const marks = 'select kind, session_id, body, seq from tk.lane_marks where lane_id = $1';
    expect(await stage.rows(marks, [lane.laneId])).toEqual([
      { kind: 'session.started', session_id: first, body: { reason: 'first' }, seq: '1' },
    ]);
  });

  it('is told of when it is the first also where there was something to decide on', async () => {
    const lane = await newLane();
    await agentResets(lane);
    await stage.send(lane, 'hello');
    const { sessionId, seq } = await claim(lane, { mode: 'idle', idleMinutes: 60 });
    const marks = 'select kind, session_id, body, seq from tk.lane_marks where lane_id = $1';
    expect(await stage.rows(marks, [lane.laneId])).toEqual([
      { kind: 'session.started', session_id: sessionId, body: { reason: 'first' }, seq },
    ]);
  });

  it('is a fresh one, linked to the old, when the lane was suspended; the old one ends as that', async () => {
    const { lane, first } = await spoken();
    await set(lane, "suspended = true, resumes = 3, resume_pending = 'restart_interrupted'");
    await stage.send(lane, 'again');
    const turn = await claim(lane);
    expect(turn.sessionId).not.toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([
      { id: first, status: 'archived', end_reason: 'suspended' },
      { id: turn.sessionId, previous_id: first, status: 'active', started_reason: 'suspended' },
    ]);
    const started = { previousSessionId: first, reason: 'suspended' };
    expect(await marksOf(lane)).toEqual([{ kind: 'session.started', body: started, seq: turn.seq }]);
    const flags = 'select suspended, resumes, resume_pending from tk.lanes where id = $1';
    expect(await stage.rows(flags, [lane.laneId])).toEqual([{ suspended: false, resumes: 0, resume_pending: null }]);
  });

  it('is a fresh one, linked to the old, when the old one was archived by age', async () => {
    const { lane, first } = await spoken();
    await stage.rows("update tk.sessions set status = 'archived' where id = $1", [first]);
    await set(lane, 'session_state = 2');
    await stage.send(lane, 'again');
    const turn = await claim(lane);
    expect(await sessionsOf(lane)).toMatchObject([
      { id: first, end_reason: 'archived' },
      { id: turn.sessionId, previous_id: first, started_reason: 'archived' },
    ]);
    expect(await stage.rows('select session_state from tk.lanes where id = $1', [lane.laneId])).toEqual([
      { session_state: 0 },
    ]);
  });

  it('is the archived one itself while it owes a resume', async () => {
    const { lane, first } = await spoken();
    await stage.rows("update tk.sessions set status = 'archived' where id = $1", [first]);
    await set(lane, "session_state = 2, resume_pending = 'restart_timeout'");
    await stage.send(lane, 'again');
    expect((await claim(lane)).sessionId).toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([{ id: first, status: 'active', end_reason: null }]);
    expect(await stage.rows('select resume_pending from tk.lanes where id = $1', [lane.laneId])).toEqual([
      { resume_pending: 'restart_timeout' },
    ]);
  });

  it('stays expired when only a wake comes, and lives again with a message', async () => {
    const { lane, first } = await spoken();
    await stage.rows("update tk.sessions set status = 'expired' where id = $1", [first]);
    await set(lane, "session_state = 1, last_activity_at = now() - interval '80 hours'");
    await stage.send(lane, 'tick', { kind: 'wake' });
    const wake = await claim(lane);
    await stage.commit(boot, wake);
    expect(wake.sessionId).toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([{ status: 'expired' }]);
    await stage.send(lane, 'hello');
    expect((await claim(lane)).sessionId).toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([{ status: 'active' }]);
  });
});

describe('a reset policy', () => {
  const idle = { mode: 'idle', idleMinutes: 30 } as const;

  it.each([
    ['30 minutes', idle, "interval '30 minutes'", 'idle'],
    ['a day', { mode: 'both', idleMinutes: 30 } as const, "interval '25 hours'", 'both'],
  ])('ends a conversation after %s of silence, once', async (...row) => {
    const [, policy, silence, reason] = row;
    const { lane, first } = await spoken();
    await agentResets(lane);
    await set(lane, `last_activity_at = now() - ${silence}`);
    await stage.send(lane, 'good morning');
    const turn = await claim(lane, policy);
    expect(turn.sessionId).not.toBe(first);
    expect(await sessionsOf(lane)).toMatchObject([
      { id: first, status: 'archived', end_reason: reason },
      { id: turn.sessionId, previous_id: first, started_reason: reason },
    ]);
    const reset = { previousSessionId: first, reason };
    expect(await marksOf(lane)).toEqual([{ kind: 'session.reset', body: reset, seq: turn.seq }]);
    await stage.commit(boot, turn);
    await stage.send(lane, 'and now');
    expect((await claim(lane, policy)).sessionId).toBe(turn.sessionId);
  });

  it.each([
    ['before its time', "last_activity_at = now() - interval '29 minutes'", {}],
    ['for a wake', "last_activity_at = now() - interval '9 hours'", { kind: 'wake' } as const],
    ['that owes a resume', "last_activity_at = now() - interval '9 hours', resume_pending = 'shutdown_timeout'", {}],
  ])('ends none %s', async (...row) => {
    const [, what, over] = row;
    const { lane, first } = await spoken();
    await agentResets(lane);
    await set(lane, what);
    await stage.send(lane, 'hello', over);
    expect((await claim(lane, idle)).sessionId).toBe(first);
  });

  it('is judged again when somebody speaks between the question and the answer', async () => {
    const { lane, first } = await spoken();
    await agentResets(lane);
    await set(lane, "last_activity_at = now() - interval '9 hours'");
    await stage.send(lane, 'hello');
    const request = claimOf(lane);
    const [asked] = await stage.lanes.claim(boot, [request]);
    if (asked?.result !== 'undecided') throw new Error(`not asked: ${JSON.stringify(asked)}`);
    const route = await decided(asked.facts, { reset: idle });
    expect(route.session).toBe('new');
    await set(lane, 'last_activity_at = now()');
    expect(await stage.lanes.claim(boot, [{ ...request, route }])).toMatchObject([{ result: 'undecided' }]);
    expect(await sessionsOf(lane)).toMatchObject([{ id: first, status: 'active' }]);
    expect((await claim(lane, idle)).sessionId).toBe(first);
  });
});

interface Vector {
  readonly id: string;
  readonly op: string;
  readonly input: Omit<Parameters<typeof decideRoute>[0], 'entry'> & {
    readonly entry: {
      readonly suspended: boolean;
      readonly resumePending: boolean;
      readonly lastPromptTokens: number;
    } | null;
  };
  readonly expected: ReturnType<typeof decideRoute>;
}

/** What the product has: no session is compressed into another, none begins by force, and a row that is there is found. */
const isProducts = ({ op, input }: Vector) =>
  op === 'route.decide' && input.successorId === null && !input.forceNew && input.row.state !== 'lookup_failed';
const file = join(import.meta.dirname, '../../../test/conformance/vectors/routing.json');
const vectors: Vector[] = JSON.parse(readFileSync(file, 'utf8'));

describe('the database does what the vectors of route.decide say', () => {
  it.each(vectors.filter(isProducts).map((vector) => [vector.id, vector] as const))('%s', async (_, vector) => {
    const { input, expected } = vector;
    const { lane, first } = await spoken();
    const ids = new Map<string, string>(input.candidates.map(({ id }) => [id, freshId<SessionId>()]));
    await stage.rows('update tk.sessions set ended_at = $2, end_reason = $3, status = $4 where id = $1', [
      ...[first, input.row.state === 'ended' ? new Date() : null, input.row.endReason],
      input.row.state === 'ended' ? 'archived' : 'active',
    ]);
    if (input.entry === null) {
      await set(lane, 'session_id = null');
      await stage.rows('delete from tk.sessions where id = $1', [first]);
      for (const { id, ended, endReason, at, hasMessages } of input.candidates) {
        const row = [
          lane.slot,
          lane.tenantId,
          ids.get(id),
          lane.laneId,
          ended ? new Date(at) : null,
          endReason,
          new Date(at),
        ];
        await stage.rows(
          'insert into tk.sessions (slot, tenant_id, id, lane_id, ended_at, end_reason, created_at) values ($1, $2, $3, $4, $5, $6, $7)',
          row,
        );
        const say = `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body, at)
          values ($1, $2, $4, 0, $6, $5, $3, 0, 'assistant', '{"text": ""}', $7)`;
        if (hasMessages) await stage.rows(say, [...row.slice(0, 4), freshId(), at, new Date(at)]);
      }
    } else {
      const { suspended, resumePending } = input.entry;
      const state = input.row.state === 'ended' ? 2 : 0;
      await set(lane, 'suspended = $2, resume_pending = $3, session_state = $4', [
        ...[suspended, resumePending ? 'restart_timeout' : null, state],
      ]);
    }
    await stage.send(lane, 'hello', input.touchActivity ? {} : { kind: 'wake' });
    const turn = await claim(lane);
    const own = expected.session === 'recovered' ? ids.get(expected.sessionId ?? '') : first;
    expect(turn.sessionId === own).toBe(expected.sessionId !== null);
    const [row] = await stage.rows<{ resume_pending: string | null; suspended: boolean; session_state: number }>(
      'select resume_pending, suspended, session_state from tk.lanes where id = $1',
      [lane.laneId],
    );
    expect(row).toEqual({
      ...{ suspended: false, session_state: 0 },
      resume_pending: expected.resumePending ? 'restart_timeout' : null,
    });
    const sessions = await sessionsOf(lane);
    expect(sessions.find(({ id }) => id === turn.sessionId)).toMatchObject({ status: 'active', end_reason: null });
    if (expected.oldRowEndReason === null) return;
    const previous = sessions.find(({ id }) => id === turn.sessionId)?.previous_id;
    expect(previous === first).toBe(expected.prevSessionId !== null);
  });
});

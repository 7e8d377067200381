import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BootId,
  type EventId,
  type LaneRef,
  LIFECYCLE_LIMITS,
  type MessageId,
  nextStatus,
  type TenantId,
} from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PostgresSessionAging } from './session-aging.ts';
import { message, openStage, type Stage, type StageLane } from './testing/index.ts';

let stage: Stage;
let boot: BootId;
let aging: PostgresSessionAging;
let serial = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  boot = await stage.worker();
  aging = new PostgresSessionAging(stage.sweep);
});
afterAll(() => stage.close());

type Limits = Parameters<typeof nextStatus>[2];
type Status = 'active' | 'expired' | 'archived';

/** A session in which nobody has spoken for so long. */
async function idleSession(status: Status, hours: number): Promise<StageLane> {
  const lane = stage.lane(await stage.tenant(`aging-${++serial}`), 'key');
  await stage.send(lane, 'hello');
  const turn = await stage.claim(boot, lane);
  await stage.commit(boot, turn);
  await stage.rows('update tk.sessions set status = $2 where id = $1', [turn.sessionId, status]);
  const states = { active: 0, expired: 1, archived: 2 };
  const age = "update tk.lanes set session_state = $2, last_activity_at = now() - $3 * interval '1 hour' where id = $1";
  await stage.rows(age, [lane.laneId, states[status], hours]);
  return lane;
}

/** One sweep over everything; how many sessions changed. */
async function sweep(limits: Limits = LIFECYCLE_LIMITS, between = async () => undefined as unknown): Promise<number> {
  const idle = await aging.idle({ ...limits, slots: 4096, limit: 1000 });
  const due = idle.flatMap((session) => {
    const to = nextStatus(session, session.now, limits);
    return to === null ? [] : [{ ...session, to }];
  });
  await between();
  return (await aging.age(due)).length;
}

const statusOf = async ({ laneId }: LaneRef): Promise<{ status: string; session_state: number } | undefined> => {
  const text = `select s.status, z.session_state from tk.lanes z join tk.sessions s on s.id = z.session_id where z.id = $1`;
  return (await stage.rows<{ status: string; session_state: number }>(text, [laneId]))[0];
};
const marksOf = async ({ laneId }: LaneRef) =>
  (
    await stage.rows<{ kind: string }>('select kind from tk.lane_marks where lane_id = $1 order by seq, n', [laneId])
  ).map(({ kind }) => kind);
const activityOf = ({ laneId }: LaneRef) =>
  stage.rows('select last_activity_at::text as at from tk.lanes where id = $1', [laneId]);

describe('sessions that grow old', () => {
  it('take one step a sweep, say so, and ageing is nobody’s activity', async () => {
    const lane = await idleSession('active', 200);
    const before = await activityOf(lane);
    expect(await sweep()).toBe(1);
    expect(await statusOf(lane)).toEqual({ status: 'expired', session_state: 1 });
    expect(await sweep()).toBe(1);
    expect(await statusOf(lane)).toEqual({ status: 'archived', session_state: 2 });
    expect(await sweep()).toBe(0);
    expect(await marksOf(lane)).toEqual(['session.started', 'session.expired', 'session.archived']);
    expect(await activityOf(lane)).toEqual(before);
  });

  it('come back with a message, in the transaction that accepts it', async () => {
    const lane = await idleSession('active', 80);
    await sweep();
    const before = await activityOf(lane);
    await stage.send(lane, 'tick', { kind: 'wake' });
    expect(await statusOf(lane)).toEqual({ status: 'expired', session_state: 1 });
    expect(await activityOf(lane)).toEqual(before);
    await stage.send(lane, 'hello');
    expect(await statusOf(lane)).toEqual({ status: 'active', session_state: 0 });
    expect(await marksOf(lane)).toEqual(['session.started', 'session.expired', 'session.resumed']);
    expect(await activityOf(lane)).not.toEqual(before);
  });

  it('do not come back with a message that was refused, or that came before', async () => {
    const lane = await idleSession('active', 80);
    const dedupe = { scope: lane.tenantId, key: 'once', bodyHash: new Uint8Array(32) };
    await stage.send(lane, 'hello', { dedupe });
    await stage.commit(boot, await stage.claim(boot, lane));
    await stage.rows("update tk.lanes set last_activity_at = now() - interval '80 hours' where id = $1", [lane.laneId]);
    await sweep();
    await stage.send(lane, 'no', { refused: { code: 'rate_limited' } });
    await expect(stage.send(lane, 'hello', { dedupe })).rejects.toThrow('duplicate');
    expect(await statusOf(lane)).toEqual({ status: 'expired', session_state: 1 });
  });

  it('stay while something is to be done in their lane, or owed', async () => {
    const queued = await idleSession('active', 80);
    await stage.send(queued, 'hello');
    const running = await idleSession('active', 80);
    await stage.send(running, 'hello');
    await stage.claim(boot, running);
    const owed = await idleSession('active', 80);
    await stage.rows("update tk.lanes set resume_pending = 'restart_timeout' where id = $1", [owed.laneId]);
    for (const lane of [queued, running, owed]) {
      const old = "update tk.lanes set last_activity_at = now() - interval '80 hours' where id = $1";
      await stage.rows(old, [lane.laneId]);
    }
    await sweep();
    const active = { status: 'active', session_state: 0 };
    expect(await Promise.all([queued, running, owed].map(statusOf))).toEqual([active, active, active]);
  });

  it('stay when somebody speaks between the look and the change', async () => {
    const lane = await idleSession('active', 80);
    await sweep(LIFECYCLE_LIMITS, () => stage.send(lane, 'hello'));
    expect(await statusOf(lane)).toEqual({ status: 'active', session_state: 0 });
    expect(await marksOf(lane)).toEqual(['session.started']);
  });
});

interface Vector {
  readonly id: string;
  readonly op: string;
  readonly input: Limits & {
    readonly now: string;
    readonly sweeps: number;
    readonly sessions: readonly { readonly status: Status; readonly lastActivityAt: string }[];
  };
  readonly expected: { readonly statuses: readonly string[]; readonly transitionsPerSweep: readonly number[] };
}

const file = join(import.meta.dirname, '../../../test/conformance/vectors/routing.json');
const vectors: Vector[] = JSON.parse(readFileSync(file, 'utf8'));
/** A database's clock goes on, so that an age of exactly the limit is one that is over. */
const isExact = ({ input }: Vector) =>
  input.sessions.some(({ lastActivityAt }) =>
    [input.expiryHours, input.archiveHours].includes(hoursOf(input.now, lastActivityAt)),
  );
const hoursOf = (now: string, then: string) => (Date.parse(now) - Date.parse(then)) / 3_600_000;

describe('the database does what the vectors of lifecycle.sweep say', () => {
  const due = vectors.filter((vector) => vector.op === 'lifecycle.sweep' && !isExact(vector));
  it.each(due.map((vector) => [vector.id, vector] as const))('%s', async (_, { input, expected }) => {
    await stage.rows('update tk.lanes set last_activity_at = now()');
    const { now, sweeps, sessions, ...limits } = input;
    const lanes: StageLane[] = [];
    for (const { status, lastActivityAt } of sessions)
      lanes.push(await idleSession(status, hoursOf(now, lastActivityAt)));
    const transitions: number[] = [];
    for (let i = 0; i < sweeps; i++) transitions.push(await sweep(limits));
    expect(transitions).toEqual(expected.transitionsPerSweep);
    expect((await Promise.all(lanes.map(statusOf))).map((row) => row?.status)).toEqual(expected.statuses);
  });
});

it('what a tenant said is kept as long as the tenant wants it', async () => {
  const kept = await stage.tenant('keeps-long');
  const short = await stage.tenant('keeps-short');
  await stage.rows(`update tk.tenants set limits = '{"retentionDays": 90}' where id = $1`, [kept]);
  await stage.rows(`update tk.tenants set limits = '{"retentionDays": 9}' where id = $1`, [short]);
  const agedDays = async (tenantId: TenantId, days: number) => {
    const lane = stage.lane(tenantId, 'aged');
    const [row] = await stage.rows<{ event: EventId; said: MessageId }>(
      'select tk.id_before($1) as event, tk.id_before($1) as said',
      [days],
    );
    await stage.accept([{ ...message(lane, 'old'), ...(row && { eventId: row.event }) }]);
    await stage.commit(boot, await stage.claim(boot, lane), row && { messageId: row.said });
    const at = `now() - ${days} * interval '1 day'`;
    await stage.rows(`update tk.events set settled_at = ${at} where lane_id = $1`, [lane.laneId]);
    await stage.rows(`update tk.messages set at = ${at} where lane_id = $1`, [lane.laneId]);
    return lane;
  };
  const [long, brief] = [await agedDays(kept, 60), await agedDays(short, 12)];
  // keys that tell repetitions outlive what they lead to nowhere
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 12, batch: 100 });
  expect((await stage.rows('select 1 from tk.events where lane_id = $1', [brief.laneId])).length).toBe(1);
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  const left = async ({ laneId }: { laneId: string }) => [
    (await stage.rows('select 1 from tk.events where lane_id = $1', [laneId])).length,
    (await stage.rows('select 1 from tk.messages where lane_id = $1', [laneId])).length,
  ];
  expect([await left(long), await left(brief)]).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

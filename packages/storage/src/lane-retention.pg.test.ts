import { type BootId, overCap, prunesLane, type SessionId, type TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PostgresLaneRetention } from './lane-retention.ts';
import { freshId, openStage, type Stage, type StageLane } from './testing/index.ts';
import { vectorsOf } from './testing/vectors.ts';

const LOOK = { slots: 4096, defaultDays: 30, limit: 1000 };

let stage: Stage;
let boot: BootId;
let retention: PostgresLaneRetention;
let serial = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  boot = await stage.worker();
  retention = new PostgresLaneRetention(stage.sweep);
});
afterAll(() => stage.close());

const tenantWith = async (limits: object): Promise<TenantId> => {
  const tenant = await stage.tenant(`retention-${++serial}`);
  await stage.rows('update tk.tenants set limits = limits || $2 where id = $1', [tenant, limits]);
  return tenant;
};

/** A lane in which something was said and answered, so long ago. */
async function idleLane(tenant: TenantId, days: number, key = 'key'): Promise<StageLane> {
  const lane = stage.lane(tenant, key);
  await stage.send(lane, 'hello');
  await stage.commit(boot, await stage.claim(boot, lane));
  await age(lane, days);
  return lane;
}
const age = ({ laneId }: StageLane, days: number) =>
  stage.rows("update tk.lanes set last_activity_at = now() - $2 * interval '1 day' where id = $1", [laneId, days]);
/** As if what was said in it were past its own retention. */
const empty = async ({ laneId }: StageLane) => {
  for (const table of ['events', 'messages', 'turns'])
    await stage.rows(`delete from tk.${table} where lane_id = $1`, [laneId]);
};

/** What the leader does with what is found. */
const prune = async (between = async () => undefined as unknown): Promise<number> => {
  const found = await retention.aged(LOOK);
  await between();
  return retention.forget(found.filter((lane) => prunesLane(lane)));
};
const cap = async (limit = 100): Promise<number> => {
  const gone = (await retention.crowded(limit)).flatMap(({ lanesMax, lanes, oldest }) => {
    const page = oldest.map((row) => ({ ...row, key: row.lane.laneId, updatedAt: row.updatedAt.getTime() }));
    const keys = overCap(page, lanesMax - (lanes - page.length));
    return oldest.filter(({ lane }) => keys.includes(lane.laneId));
  });
  return retention.forget(gone);
};

const rowOf = async ({ laneId }: StageLane) =>
  (await stage.rows<{ session_id: string | null }>('select session_id from tk.lanes where id = $1', [laneId]))[0];
/** Does the lane still name a session? */
const isKept = async (lane: StageLane) => typeof (await rowOf(lane))?.session_id === 'string';
const saidIn = async ({ laneId }: StageLane) =>
  (
    await stage.rows(
      'select 1 from tk.events e join tk.sessions s on s.id = e.session_id join tk.messages m on m.turn_id = e.turn_id where e.lane_id = $1',
      [laneId],
    )
  ).length;

type PruneInput = { maxAgeDays: number; idleDays: number; suspended: boolean; activeWork: string };
type CapInput = { maxEntries: number; sessions: { key: string; updatedAt: number; running: boolean }[] };

describe('the database does what the vectors of lane.prune say', () => {
  type Expected = { removed: boolean; transcriptKept: boolean };
  it.each(vectorsOf<PruneInput, Expected>('routing.json', 'lane.prune'))('%s', async (_, { input, expected }) => {
    const { maxAgeDays, idleDays, suspended, activeWork } = input;
    const lane = await idleLane(await tenantWith({ laneDays: maxAgeDays }), idleDays);
    if (activeWork === 'running') {
      await stage.send(lane, 'more');
      await stage.claim(boot, lane);
    }
    // a database's clock goes on: exactly the limit is a little less than it
    await age(lane, idleDays === maxAgeDays ? idleDays - 0.001 : idleDays);
    await stage.rows('update tk.lanes set suspended = $2 where id = $1', [lane.laneId, suspended]);
    const forget = async () => expect(await prune()).toBe(expected.removed ? 1 : 0);
    if (activeWork === 'check_failed') await whileLocked(lane, forget);
    else await forget();
    expect(await isKept(lane)).toBe(!expected.removed);
    expect((await saidIn(lane)) > 0).toBe(expected.transcriptKept);
    await age(lane, 0);
  });
});

describe('the database does what the vectors of retention.cap say', () => {
  it.each(vectorsOf<CapInput, { removed: string[] }>('routing.json', 'retention.cap'))(
    '%s',
    async (_, { input, expected }) => {
      const tenant = await tenantWith({ lanes: input.maxEntries, laneDays: 0 });
      const lanes = new Map<string, StageLane>();
      for (const { key, updatedAt, running } of input.sessions) {
        const lane = await idleLane(tenant, 0, key);
        if (running) {
          await stage.send(lane, 'more');
          await stage.claim(boot, lane);
        }
        await age(lane, 1 - updatedAt / 1_000);
        lanes.set(key, lane);
      }
      // however small a page is, the tenant is at its cap in the end
      while ((await cap(1)) > 0);
      const gone: string[] = [];
      for (const [key, lane] of lanes) if (!(await isKept(lane))) gone.push(key);
      expect(gone).toEqual(expected.removed);
    },
  );
});

describe('the database does what the vectors of ledger.prune say', () => {
  // a try that failed waits for the next one, as pending
  const STATES = { pending: 0, failed: 0, attempting: 1, delivered: 2, abandoned: 5 } as const;
  type Row = { id: string; state: keyof typeof STATES; ageDays: number };
  it.each(vectorsOf<{ rows: Row[] }, { pruned: string[] }>('delivery.json', 'ledger.prune'))(
    '%s',
    async (_, { input, expected }) => {
      const tenant = await tenantWith({ laneDays: 0 });
      const ids = new Map<string, string>();
      for (const { id, state, ageDays } of input.rows) {
        const lane = await idleLane(tenant, 0, id);
        // a database's clock goes on: exactly a week is a little less than it
        const days = ageDays === 7 ? 6.999 : ageDays;
        const aged = `update tk.messages set dstate = $2, id = tk.id_before($3), at = now() - $3 * interval '1 day'
          where lane_id = $1 returning id`;
        const [row] = await stage.rows<{ id: string }>(aged, [lane.laneId, STATES[state], days]);
        ids.set(id, row?.id ?? '');
      }
      await stage.repair.deleteExpired({ settledDays: 7, dedupeDays: 6, batch: 100 });
      const left = await stage.rows<{ id: string }>('select id from tk.messages where tenant_id = $1', [tenant]);
      const pruned = [...ids].filter(([, id]) => !left.some((row) => row.id === id)).map(([name]) => name);
      expect(pruned).toEqual(expected.pruned);
    },
  );
});

describe('a lane that is forgotten', () => {
  it('begins a session of its own with the next message, at a higher seq, and what was said stays readable', async () => {
    const lane = await idleLane(await tenantWith({ laneDays: 30 }), 31);
    const [before] = await stage.rows<{ seq: string; session_id: string }>(
      'select seq, session_id from tk.lanes where id = $1',
      [lane.laneId],
    );
    expect(await prune()).toBe(1);
    expect(await prune()).toBe(0);
    const marks = await stage.rows('select kind, body from tk.lane_marks where lane_id = $1 order by seq', [
      lane.laneId,
    ]);
    expect(marks.at(-1)).toEqual({ kind: 'session.archived', body: { reason: 'forgotten' } });
    await stage.send(lane, 'again');
    const turn = await stage.claim(boot, lane);
    expect(turn.sessionId).not.toBe(before?.session_id);
    expect(BigInt(turn.seq)).toBeGreaterThan(BigInt(before?.seq ?? 0));
    expect(await saidIn(lane)).toBe(1);
  });

  it('stays when somebody writes between the look and the change', async () => {
    const lane = await idleLane(await tenantWith({ laneDays: 30 }), 31);
    expect(await prune(() => stage.send(lane, 'still here'))).toBe(0);
    expect(await isKept(lane)).toBe(true);
    await age(lane, 0);
  });

  it('stays while a reply is owed, or while a person has paused it', async () => {
    const tenant = await tenantWith({ laneDays: 30 });
    const owing = await idleLane(tenant, 31, 'owing');
    await stage.rows('update tk.messages set dstate = 0 where lane_id = $1', [owing.laneId]);
    const paused = await idleLane(tenant, 31, 'paused');
    await stage.rows('update tk.lanes set paused = true where id = $1', [paused.laneId]);
    expect(await prune()).toBe(0);
    for (const lane of [owing, paused]) await age(lane, 0);
  });

  it('goes with its sessions and marks when nothing of it is left, and comes back as a new one', async () => {
    const lane = await idleLane(await tenantWith({}), 31);
    const other = await idleLane(await tenantWith({ laneDays: 0 }), 31);
    for (const each of [lane, other]) await empty(each);
    const control = { lane, sessionId: null, command: 'archive', dedupe: null } as const;
    await stage.control.control({ ...control, newSessionId: freshId<SessionId>() });
    await age(lane, 31);
    expect(await rowOf(lane)).toBeDefined();
    // who archives suspends its lane: it stays for its next message
    const suspended = await stage.rows<{ suspended: boolean }>('select suspended from tk.lanes where id = $1', [
      lane.laneId,
    ]);
    expect(suspended).toEqual([{ suspended: true }]);
    expect(await prune()).toBe(0);
    await stage.rows('update tk.lanes set suspended = false where id = $1', [lane.laneId]);
    expect(await prune()).toBe(1);
    expect(await rowOf(lane)).toBeUndefined();
    expect(await stage.rows('select 1 from tk.sessions where lane_id = $1', [lane.laneId])).toEqual([]);
    expect(await rowOf(other)).toBeDefined();
    await stage.send(lane, 'again');
    await stage.commit(boot, await stage.claim(boot, lane));
    expect(await isKept(lane)).toBe(true);
  });
});

/** While somebody else holds the lane's row. */
async function whileLocked({ laneId }: StageLane, run: () => Promise<unknown>): Promise<void> {
  const rival = await stage.root.connect();
  try {
    await rival.query('begin');
    await rival.query('select 1 from tk.lanes where id = $1 for update', [laneId]);
    await run();
  } finally {
    await rival.query('rollback');
    rival.release();
  }
}

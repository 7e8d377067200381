import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import {
  type BootId,
  type ClaimedTurn,
  type InputId,
  interruptLostTurns,
  type MessageId,
  type TenantId,
} from '@turnkeeper/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { PostgresInputStore } from './input-store.ts';
import { checkInvariants, PostgresInvariants } from './invariants.ts';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

const ALL = { fromSlot: 0, rows: 20_000, lastMs: 1_000 };

let stage: Stage;
let tenant: TenantId;
let worker: BootId;
let lane: StageLane;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
});
afterAll(() => stage.close());

/** One lane in which three messages were answered, one after another. */
beforeEach(async () => {
  worker = await stage.worker();
  lane = stage.lane(tenant, 'lane');
  for (const text of ['one', 'two', 'three']) await stage.send(lane, text);
  for (let i = 0; i < 3; i++) await answerNext();
  // as if it had all happened a while ago: nothing is "not yet done"
  await stage.rows("update tk.events set accepted_at = accepted_at - interval '1 minute'");
  await stage.rows("update tk.lanes set last_activity_at = last_activity_at - interval '1 minute'");
});
afterEach(async () => {
  await stage.rows(
    'truncate tk.lanes, tk.sessions, tk.events, tk.messages, tk.turns, tk.dedupe_keys, tk.lane_marks, tk.workers, tk.inputs, tk.account_pauses',
  );
});

async function answerNext(): Promise<void> {
  await stage.commit(worker, await stage.claim(worker, lane));
}
async function found(): Promise<string[]> {
  const { violations } = await checkInvariants(stage.sweep, new Date(0));
  return [...new Set(violations.map((one) => one.invariant))].sort();
}

test('a clean history breaks no promise', async () => {
  expect(await checkInvariants(stage.sweep, new Date(0))).toEqual({ checked: 3, violations: [] });
});

test('a lost event is found', async () => {
  await stage.rows("delete from tk.events where body ->> 'text' = 'two'");
  expect(await found()).toEqual(['p1-accepted-is-stored']);
});

test('a lost reply is found', async () => {
  await stage.rows('delete from tk.messages where seq = (select min(seq) from tk.messages)');
  expect(await found()).toEqual(['p4-every-event-settles-once']);
});

test('a doubled reply is found', async () => {
  await stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, dstate)
     select slot, tenant_id, lane_id, seq, 7, $1, session_id, turn_id, run_id, fence, role, body, dstate from tk.messages limit 1`,
    [randomUUID()],
  );
  expect(await found()).toEqual(['p2-one-reply-per-run']);
});

test('an event that two turns answered is found', async () => {
  await stage.rows(
    `insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, agent_id, session_id, ords, event_ids, seq, end_seq, started_at, ended_at)
     select slot, tenant_id, lane_id, $1, 0, boot_id, state, agent_id, session_id, ords, event_ids, 0, 0, started_at - interval '1 hour', ended_at - interval '1 hour'
     from tk.turns order by seq limit 1`,
    [randomUUID()],
  );
  expect(await found()).toEqual(['p2-one-effect-per-event']);
});

test('a message consumed before an earlier one is found', async () => {
  // "one" and "three" change places in the lane's order, as if "three" had been claimed a minute before "one" was
  await stage.rows(`update tk.events set seq = (select max(seq) + 1 from tk.events) where body ->> 'text' = 'one'`, []);
  expect(await found()).toEqual(['p3-first-in-first-out']);
});

test('turns whose times cross are found', async () => {
  await stage.rows(
    `update tk.turns set ended_at = ended_at + interval '1 hour' where seq = (select min(seq) from tk.turns)`,
    [],
  );
  expect(await found()).toEqual(['p2-no-overlapping-turns']);
});

test('a write with a stale fence is found', async () => {
  await stage.rows('update tk.messages set fence = fence + 1 where seq = (select max(seq) from tk.messages)');
  expect(await found()).toEqual(['p2-no-stale-writes']);
});

test('the reply of a fenced turn is found', async () => {
  await stage.rows('update tk.turns set state = 7 where seq = (select max(seq) from tk.turns)');
  expect(await found()).toEqual(['p2-no-stale-writes']);
});

test('queued work in a partition without an owner is found', async () => {
  await stage.send(lane, 'four');
  await stage.rows("update tk.events set accepted_at = now() - interval '1 minute' where state = 0");
  await stage.rows("update tk.lanes set last_activity_at = now() - interval '1 minute'");
  await stage.rows("update tk.partitions set owner = null, changed_at = now() - interval '1 minute'");
  expect(await found()).toEqual(['p6-no-stranded-lane']);
});

test('a turn that a dead worker left running is found', async () => {
  await stage.send(lane, 'four');
  await stage.claim(worker, lane);
  await stage.rows("update tk.workers set state = 3, ended_at = now() - interval '1 minute'");
  expect(await found()).toEqual(['p6-no-stranded-lane']);
});

test('a waiting reply behind which a later one was sent is found', async () => {
  await stage.rows('update tk.messages set dstate = 0, dref = null where seq = (select min(seq) from tk.messages)');
  await stage.rows("update tk.messages set dref = 'sent' where dstate = 2");
  expect(await found()).toEqual(['p3-replies-leave-in-order']);
});

/** Of the lane's kinds, when it stands twice among others that are not there. */
async function repairOf(of: StageLane): Promise<readonly string[]> {
  const lanes = [of, stage.lane(tenant, 'not there'), of];
  return (await new PostgresInvariants(stage.sweep).repair(lanes)).get(of.laneId) ?? [];
}
/** What the leader does with the open work of the lane; it is sound afterwards, as far as rows tell. */
async function repaired(): Promise<readonly string[]> {
  const invariants = new PostgresInvariants(stage.sweep);
  const broken = (await invariants.openWork(ALL)).violations.filter(({ repairable }) => repairable);
  expect(broken.length, 'something repairable was found').toBeGreaterThan(0);
  const counters = async () => (await stage.rows<{ fence: string; seq: string }>('select fence, seq from tk.lanes'))[0];
  const before = await counters();
  const kinds = await repairOf(lane);
  // the same again changes nothing
  expect(await repairOf(lane)).toEqual(kinds.filter((kind) => kind === 'looked_for'));
  const raised = kinds.some((kind) => kind !== 'looked_for') ? 1 : 0;
  expect(await counters(), 'a change of a lane is one of its steps').toEqual({
    fence: String(Number(before?.fence) + raised),
    seq: String(Number(before?.seq) + raised),
  });
  return kinds;
}
async function ask({ lane: at, fence }: ClaimedTurn): Promise<void> {
  const ids = { inputId: freshId<InputId>(), messageId: freshId<MessageId>(), stepId: freshId<MessageId>() };
  const question = { kind: 'question', text: 'What now?', waitMs: 60_000 } as const;
  expect(await new PostgresInputStore(stage.engine).ask({ lane: at, fence, ...ids, question })).toMatchObject({
    result: 'ok',
  });
}
const aWhileAgo = () => stage.rows("update tk.lanes set last_activity_at = now() - interval '1 minute'");
const broken = async () =>
  (await new PostgresInvariants(stage.sweep).openWork(ALL)).violations.map(({ detail }) => detail);

test('nothing is repaired in a lane that breaks no promise, whatever it does', async () => {
  const invariants = new PostgresInvariants(stage.sweep);
  expect(await invariants.openWork(ALL)).toEqual({ violations: [], nextSlot: 0 });
  expect(await repairOf(lane)).toEqual([]);
  await stage.send(lane, 'four');
  const turn = await stage.claim(worker, lane);
  expect(await repairOf(lane)).toEqual([]);
  expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
});

test('the turn of a process that nobody knows any more is looked for, and so interrupted', async () => {
  await stage.send(lane, 'four');
  const turn = await stage.claim(worker, lane);
  await stage.rows('delete from tk.workers');
  expect(await stage.repair.lostTurns(10, 3), 'nobody looks: no process has ended').toEqual([]);
  expect(await found()).toEqual(['p6-no-stranded-lane']);

  expect(await repaired()).toEqual(['looked_for']);
  expect(await stage.repair.lostTurns(10, 3)).toMatchObject([{ turnId: turn.fence.turnId, crashed: true }]);
});

test('a live process is not looked for', async () => {
  await stage.send(lane, 'four');
  await stage.claim(worker, lane);
  expect(await repairOf(lane)).toEqual([]);
  expect(await stage.rows('select 1 from tk.workers where state = 3')).toEqual([]);
});

test('the send of a process that nobody knows any more is looked for, and so becomes unknown', async () => {
  await stage.rows(
    'update tk.messages set dstate = 1, dboot = $1, account_id = $1, dref = null where seq = (select max(seq) from tk.messages)',
    [randomUUID()],
  );
  expect(await repaired()).toEqual(['looked_for']);
  expect(await stage.repair.lostSends(10)).toBe(1);
  expect(await broken()).toEqual([]);
});

test('an interrupted event whose resume was lost is owed it again, and goes on from its turn', async () => {
  await stage.send(lane, 'four');
  const turn = await stage.claim(worker, lane);
  await stage.kill(worker);
  await interruptLostTurns(stage.repair, 10);
  await stage.rows('update tk.lanes set resume_of = null');
  await aWhileAgo();
  expect(await found()).toEqual(['p4-open-events-go-on']);

  expect(await repaired()).toEqual(['resumed']);
  expect(await broken()).toEqual([]);
  const resumed = await stage.claim(await stage.worker(), lane);
  expect(resumed).toMatchObject({ reason: 'resume', resumeOf: turn.fence.turnId });
});

test('an event that waits for a resume of nothing is queued again', async () => {
  await stage.send(lane, 'four');
  await stage.rows('update tk.events set state = 1 where state = 0');
  await aWhileAgo();
  expect(await repaired()).toEqual(['requeued']);
  expect(await broken()).toEqual([]);
  expect(await stage.claim(worker, lane)).toMatchObject({ reason: 'message' });
});

test('a lane that waits for a question which is not open goes on', async () => {
  await stage.send(lane, 'four');
  const turn = await stage.claim(worker, lane);
  await ask(turn);
  expect(await broken()).toEqual([]);
  expect(await repairOf(lane), 'an open question is waited for').toEqual([]);
  await stage.rows("update tk.inputs set state = 'cancelled'");
  await stage.send(lane, 'five');
  expect(await found()).toEqual(['p4-open-events-go-on']);

  expect(await repaired()).toEqual(['released']);
  expect(await broken()).toEqual([]);
  expect(await stage.claim(worker, lane)).toMatchObject({ reason: 'input', resumeOf: turn.fence.turnId });
});

describe('a due reply that nobody sends', () => {
  const account = randomUUID();
  const STRANDED = ['due reply that nobody sends'];

  // the last reply was owed through the account a while ago, and the two before it lie in other lanes: each is a head
  beforeEach(() =>
    stage.rows(
      `update tk.messages set account_id = $1, dstate = 0, dref = null, dat = null, at = at - interval '10 minutes',
         lane_id = case seq when (select max(seq) from tk.messages) then lane_id else gen_random_uuid() end`,
      [account],
    ),
  );

  test('is found in each lane', async () => {
    expect(await broken()).toEqual([...STRANDED, ...STRANDED, ...STRANDED]);
  });

  test('is none while its account was asked to wait, and a minute after', async () => {
    await stage.rows(
      'insert into tk.account_pauses (account_id, tenant_id, until) values ($1, $2, now() - $3::interval)',
      [account, tenant, '50 seconds'],
    );
    expect(await broken()).toEqual([]);
    await stage.rows("update tk.account_pauses set until = now() + interval '1 day'");
    expect(await broken()).toEqual([]);
    await stage.rows("update tk.account_pauses set until = now() - interval '2 minutes'");
    expect(await broken()).toHaveLength(3);
  });

  test('is none while its account has sends in hand, or tried one within a minute', async () => {
    const one = 'where seq = (select max(seq) from tk.messages)';
    await stage.rows(`update tk.messages set dstate = 1, dboot = $1, dat = now() - interval '2 minutes' ${one}`, [
      worker,
    ]);
    expect(await broken(), 'a slow receiver').toEqual([]);
    await stage.rows(`update tk.messages set dat = now() - interval '20 minutes' ${one}`);
    expect(await broken(), 'no send takes so long').toHaveLength(2);
    await stage.rows(`update tk.messages set dstate = 0, dboot = null, dat = now() - interval '30 seconds' ${one}`);
    expect(await broken(), 'a try that failed').toEqual([]);
    await stage.rows(`update tk.messages set account_id = $1 ${one}`, [randomUUID()]);
    expect(await broken(), 'of another account').toHaveLength(2);
  });

  test('is found although its account goes on, when that serves what became due minutes later', async () => {
    const one = 'where seq = (select max(seq) from tk.messages)';
    const served = (minutes: number) =>
      stage.rows(
        `update tk.messages set dstate = 2, dref = 'sent', dat = now(), at = now() - $1 * interval '1 minute' ${one}`,
        [minutes],
      );
    const tries = 'where seq = (select min(seq) from tk.messages)';
    await stage.rows(`update tk.messages set dat = now() - interval '30 seconds' ${tries}`);
    await served(8);
    expect(await broken(), 'others were before it').toEqual([]);
    await served(0);
    // the third was tried just now
    expect(await broken()).toEqual(STRANDED);
  });
});

test("a lane is stranded only while its tenant has less than a worker's share of turns", async () => {
  await stage.send(lane, 'four');
  await stage.send(stage.lane(tenant, 'busy'), 'five');
  await stage.claim(worker, stage.lane(tenant, 'busy'));
  await stage.rows("update tk.events set accepted_at = now() - interval '1 minute'");
  await aWhileAgo();
  await stage.rows("update tk.workers set turn_slots = 10, kind = 'session-worker'");
  await stage.rows("update tk.partitions set owner = $1, changed_at = now() - interval '1 minute'", [worker]);
  const limit = (turnSlots: number) =>
    stage.rows("update tk.tenants set limits = limits || jsonb_build_object('turnSlots', $1::int)", [turnSlots]);

  // what runs is as the leader counted it
  await stage.repair.measureLoad(10);
  await limit(2);
  expect(await broken()).toEqual(['queued work that its owner does not run']);
  await stage.worker();
  expect(await broken(), 'one runs there, and each of two workers may run one').toEqual([]);
  await limit(4);
  expect(await broken()).toEqual(['queued work that its owner does not run']);
  await limit(1);
  expect(await broken()).toEqual([]);
  await stage.rows("update tk.tenants set limits = limits - 'turnSlots'");
});

test('a look goes over as many slots as hold what it may read, and the next over those behind them', async () => {
  const seen: string[] = [];
  const slots: number[] = [];
  for (const key of ['a', 'b', 'c', 'd', 'e']) {
    const other = stage.lane(tenant, key);
    await stage.send(other, 'x');
    slots.push(other.slot);
  }
  await stage.rows('update tk.events set state = 1 where state = 0');
  await aWhileAgo();
  const invariants = new PostgresInvariants(stage.sweep);
  let looks = 0;
  for (let fromSlot = 0; looks === 0 || fromSlot > 0; looks++) {
    const { violations, nextSlot } = await invariants.openWork({ ...ALL, fromSlot, rows: 2 });
    expect(violations.every(({ slot }) => slot !== null && slot >= fromSlot)).toBe(true);
    seen.push(...violations.map(({ subject }) => subject));
    fromSlot = nextSlot;
  }
  expect(new Set(slots).size, 'else fewer windows').toBe(5);
  expect(looks).toBe(3);
  expect(new Set(seen).size).toBe(5);
  expect(seen).toHaveLength(5);
});

test('what was written lately is found tenant by tenant, by an index that ends at its time', async () => {
  const folder = new URL('../sql/invariants/history/', import.meta.url);
  // accepted keys have an index by time alone
  const files = (await readdir(folder)).filter((file) => !file.startsWith('p1-'));
  for (const file of files) {
    const sql = (await readFile(new URL(file, folder), 'utf8')).replaceAll('$1', "(now() - interval '5 minutes')");
    const plan = await stage.sweep.transaction(async (transaction) => {
      await transaction.query({ name: 'no_seqscan', text: 'set local enable_seqscan = off' }, []);
      return transaction.query<{ 'QUERY PLAN': string }>({ name: `plan_${file}`, text: `explain ${sql}` }, []);
    });
    const text = plan.map((line) => line['QUERY PLAN']).join('\n');
    const scans = [...text.matchAll(/ on (\w+) x .*\n\s+(.*)/g)];
    expect(scans.length, text).toBeGreaterThan(0);
    for (const [, , condition] of scans) {
      expect(condition, text).toMatch(/Index Cond: \(\(tenant_id = own\.id\) AND \((id|ended_at|at) >= /);
    }
  }
});

import { readFileSync } from 'node:fs';
import { type AccountId, type BootId, interruptLostTurns, type MessageId, type TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { claimOf, freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';
import { vectorsOf } from './testing/vectors.ts';

let stage: Stage;
let tenant: TenantId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
});
afterAll(() => stage.close());
beforeEach(async () => {
  await stage.rows(
    'truncate tk.lanes, tk.events, tk.messages, tk.turns, tk.sessions, tk.dedupe_keys, tk.workers, tk.audit',
  );
});

const accountId = freshId<AccountId>();

interface Claimed {
  readonly lane: StageLane;
  readonly worker: BootId;
  readonly turn: Awaited<ReturnType<Stage['claim']>>;
}

async function claimed(kind: 'message' | 'wake' = 'message', account = accountId): Promise<Claimed> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  await stage.send(lane, 'a', { accountId: account, kind });
  const worker = await stage.worker();
  return { lane, worker, turn: await stage.claim(worker, lane) };
}

async function stores({ turn }: Claimed, ...steps: readonly (readonly [role: string, text: string])[]): Promise<void> {
  for (const [i, [role, text]] of steps.entries()) {
    // a reply that is stored before its commit: what a turn of several steps leaves
    const step = { role: role as 'tool_call', body: { text } };
    const guard = { lane: turn.lane, fence: turn.fence, seq: turn.seq };
    expect(await stage.lanes.append([{ ...guard, ...step, n: i + 1, messageId: freshId<MessageId>() }])).toEqual([
      'ok',
    ]);
  }
}

const events = () => stage.rows("select state, error ->> 'code' as code, failures from tk.events order by ord");
const outbox = () =>
  stage.rows("select role, dstate, drecovered, account_id, body ->> 'code' as code from tk.messages order by seq, n");
const decide = () => interruptLostTurns(stage.repair, 10);

test('a reply that is stored is owed once, marked as recovered, and its run is ok', async () => {
  const lost = await claimed();
  await stores(lost, ['tool_call', ''], ['tool_result', ''], ['assistant', 'the answer']);
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'replied' }]);
  expect(await decide()).toEqual([]);
  expect(await events()).toEqual([{ state: 10, code: null, failures: 1 }]);
  const next = await stage.worker();
  const due = await stage.deliveries.claimDue(next, { partitions: [...Array(16).keys()], limit: 10 });
  expect(due).toMatchObject([
    { accountId, recovered: true, body: { text: 'the answer' }, turnId: lost.turn.fence.turnId },
  ]);
  expect(await stage.lanes.look([lost.lane])).toEqual([false]);
});

test('a reply that is owed takes the mark of an earlier interruption away, and a turn that did not end keeps it', async () => {
  const answered = await claimed();
  await stores(answered, ['assistant', 'the answer']);
  const cut = await claimed();
  await stage.rows("update tk.lanes set resume_pending = 'shutdown_timeout'");
  await stage.kill(answered.worker);
  await stage.kill(cut.worker);
  expect((await decide()).map(({ outcome }) => outcome).sort()).toEqual(['replied', 'resume']);
  const marks = await stage.rows<{ id: string; resume_pending: string }>('select id, resume_pending from tk.lanes');
  expect(new Map(marks.map((lane) => [lane.id, lane.resume_pending]))).toEqual(
    new Map<string, string | null>([
      [answered.lane.laneId, null],
      [cut.lane.laneId, 'shutdown_timeout'],
    ]),
  );
});

test('a silence marker ends the turn of a machine without a word, and tells a person', async () => {
  const machine = await claimed('wake');
  await stores(machine, ['assistant', 'NO_REPLY']);
  await stage.kill(machine.worker);
  expect(await decide()).toMatchObject([{ outcome: 'silent' }]);
  expect(await events()).toEqual([{ state: 11, code: null, failures: 1 }]);
  expect(await stage.rows('select 1 from tk.messages where dstate is not null')).toEqual([]);

  const human = await claimed();
  await stores(human, ['assistant', '[SILENT]']);
  await stage.kill(human.worker);
  expect(await decide()).toMatchObject([{ outcome: 'silent' }]);
  expect(await stage.rows("select body ->> 'code' as code, dstate from tk.messages where role = 'notice'")).toEqual([
    { code: 'no_reply', dstate: 0 },
  ]);
});

test('a turn that began too long ago is not taken up: its run ends with a time-out, and a person is told', async () => {
  const lost = await claimed();
  await stage.rows("update tk.lanes set turn_started_at = now() - interval '61 minutes'");
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'stale' }]);
  expect(await events()).toEqual([{ state: 13, code: 'turn_timeout', failures: 1 }]);
  expect(await outbox()).toMatchObject([{ role: 'notice', code: 'turn_timeout', dstate: 0 }]);
  expect(await stage.lanes.look([lost.lane])).toEqual([false]);
});

test('what a turn stored between the look and the verdict is not overlooked: nothing is written', async () => {
  const lost = await claimed();
  await stage.kill(lost.worker);
  const repair = {
    interrupt: (verdicts: Parameters<Stage['repair']['interrupt']>[0]) => stage.repair.interrupt(verdicts),
    lostTurns: async (...look: Parameters<Stage['repair']['lostTurns']>) => {
      const seen = await stage.repair.lostTurns(...look);
      await stores(lost, ['assistant', 'just in time']);
      return seen;
    },
  };
  expect(await interruptLostTurns(repair, 10)).toEqual([]);
  expect(await decide()).toMatchObject([{ outcome: 'replied' }]);
});

test('what is owed after a lost turn is owed once, however often the turn is taken over', async () => {
  const lost = await claimed();
  await stage.rows("update tk.lanes set turn_started_at = now() - interval '61 minutes'");
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'stale' }]);
  const notices = () => stage.rows("select id, turn_id from tk.messages where role = 'notice'");
  const first = await notices();
  // the rows as they were before: a database that lost the end of the transaction's lane but not its message
  await stage.rows('update tk.lanes set turn_id = $1', [lost.turn.fence.turnId]);
  await stage.rows('update tk.events set state = 0, end_seq = null, settled_at = null');
  await stage.rows('delete from tk.turns');
  await stage.rows('update tk.workers set swept_at = null');
  expect(await decide()).toMatchObject([{ outcome: 'stale' }]);
  expect(await notices()).toEqual(first);
  expect(first).toMatchObject([{ turn_id: lost.turn.fence.turnId }]);
});

test('an account without a ledger is owed no stored reply: the turn runs again', async () => {
  const lost = await claimed('message', await stage.account(tenant, { ledger: 'off' }));
  await stores(lost, ['assistant', 'the answer']);
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'resume' }]);
  expect(await stage.rows('select 1 from tk.messages where dstate is not null')).toEqual([]);
});

/** A turn that had been resumed before is lost. */
async function lostAgain(): Promise<Claimed> {
  const lost = await claimed();
  await stage.rows('update tk.lanes set resumes = 1 where id = $1', [lost.lane.laneId]);
  await stage.kill(lost.worker);
  return lost;
}

test('resumes that end process after process wait for a person, and what is lost for the first time does not', async () => {
  await lostAgain();
  await lostAgain();
  expect(await decide(), 'one takeover').toMatchObject([{ outcome: 'resume' }, { outcome: 'resume' }]);
  await lostAgain();
  expect(await decide()).toMatchObject([{ outcome: 'resume' }]);
  const held = await lostAgain();
  const fresh = await claimed();
  await stage.kill(fresh.worker);
  const outcomes = new Map((await decide()).map(({ turnId, outcome }) => [turnId, outcome]));
  expect(outcomes.get(held.turn.fence.turnId)).toBe('held');
  expect(outcomes.get(fresh.turn.fence.turnId)).toBe('resume');
  expect(
    await stage.rows(
      "select e.state, e.error ->> 'code' as code, z.resume_pending, z.suspended from tk.events e join tk.lanes z on z.id = e.lane_id where z.id = $1",
      [held.lane.laneId],
    ),
  ).toEqual([{ state: 20, code: 'worker_lost_too_often', resume_pending: 'restart_interrupted', suspended: false }]);
  await stage.send(held.lane, 'go on', { accountId });
  expect(await stage.claim(await stage.worker(), held.lane)).toMatchObject({
    interrupted: { reason: 'restart_interrupted' },
    events: [{ body: { text: 'go on' } }],
  });
});

test('resumes that are lost far apart are resumed, and the breaker can be switched off', async () => {
  for (let i = 0; i < 3; i++) {
    await lostAgain();
    expect(await decide()).toMatchObject([{ outcome: 'resume' }]);
    await stage.rows("update tk.workers set resume_lost_at = resume_lost_at - interval '6 minutes'");
  }
  await stage.rows(
    "update tk.workers set resume_lost_at = now() - random() * interval '1 minute' where resume_lost_at is not null",
  );
  await lostAgain();
  const off = { restartsMax: 0, windowMs: 60_000, gapMsMax: 300_000 };
  expect(await interruptLostTurns(stage.repair, 10, off)).toMatchObject([{ outcome: 'resume' }]);
});

test('an event that crashes its workers too often is parked as it is, and the lane goes on', async () => {
  const lost = await claimed();
  await stage.rows('update tk.events set failures = 4');
  const before = await stage.rows('select body::text from tk.events');
  await stage.send(lost.lane, 'b', { accountId });
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'parked' }]);
  expect(await stage.rows('select body::text from tk.events order by ord limit 1')).toEqual(before);
  expect((await events())[0]).toEqual({ state: 19, code: 'poison', failures: 5 });
  expect(await stage.rows('select action from tk.audit')).toEqual([{ action: 'event.parked' }]);
  expect(await outbox()).toMatchObject([{ role: 'notice', code: 'poison', dstate: 0 }]);
  const next = await stage.claim(await stage.worker(), lost.lane);
  expect(next).toMatchObject({ reason: 'message', events: [{ body: { text: 'b' } }] });
});

test("what an agent's configuration says counts: one crash is enough for this one", async () => {
  const lost = await claimed();
  await stage.rows("insert into tk.agents (id, tenant_id, name, version) values ($1, $2, 'main', 1)", [
    lost.lane.agentId,
    tenant,
  ]);
  await stage.rows(
    `insert into tk.agent_versions (tenant_id, agent_id, version, config) values ($2, $1, 1, '{"resume":{"resumesMax":1}}')`,
    [lost.lane.agentId, tenant],
  );
  await stage.kill(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'suspended' }]);
});

test('a turn of a process that had handed everything over never began: its event is queued again, and no strike', async () => {
  const lost = await claimed();
  await stage.ownership.gone(lost.worker);
  expect(await decide()).toMatchObject([{ outcome: 'requeued' }]);
  expect(await events()).toEqual([{ state: 0, code: null, failures: 0 }]);
  expect(await stage.rows('select resumes, resume_pending, resume_of from tk.lanes')).toEqual([
    { resumes: 0, resume_pending: null, resume_of: null },
  ]);
});

interface StuckCase {
  readonly id: string;
  readonly op: string;
  readonly input: { readonly events: readonly { type: string; cause: string | null; lanes: readonly string[] }[] };
  readonly expected: object;
}

const vectors: StuckCase[] = JSON.parse(readFileSync('test/conformance/vectors/recovery.json', 'utf8'));

/** A turn of the lane: what it is owed, else a new message. */
async function nextTurn(worker: BootId, lane: StageLane) {
  const [first] = await stage.claims(worker, [claimOf(lane)]);
  if (first?.result === 'claimed') return first;
  await stage.send(lane, 'a', { accountId });
  return stage.claim(worker, lane);
}

// what core decides of strikes is stored as it is decided: the same cases, through claims, ends and the rows
test.each(vectors.filter(({ op }) => op === 'stuck.run'))('rows count strikes as the rules do: $id', async (vector) => {
  const name = names++;
  // its agent says nothing of its own
  const plain = await stage.tenant(`plain-${name}`);
  const laneOf = (key: string) => stage.lane(plain, key);
  const keys = [...new Set(vector.input.events.flatMap(({ lanes }) => lanes))];
  const keyOf = new Map(keys.map((key) => [laneOf(key).laneId, key]));
  const [suspended, resumed]: [string[], string[]] = [[], []];
  for (const { type, cause, lanes } of vector.input.events) {
    const worker = await stage.worker();
    const turns = [];
    for (const key of lanes) turns.push(await nextTurn(worker, laneOf(key)));
    if (type === 'success') for (const turn of turns) await stage.commit(worker, turn);
    else if (cause === 'crash') await stage.kill(worker);
    else if (cause === 'rollout') await stage.ownership.gone(worker);
    if (type !== 'recover') continue;
    const decided = (await decide()).map(({ lane, outcome }) => ({ key: keyOf.get(lane.laneId) ?? '', outcome }));
    for (const { key, outcome } of decided.toSorted((a, b) => a.key.localeCompare(b.key)))
      (outcome === 'suspended' ? suspended : resumed).push(key);
  }
  const rows = await stage.rows<{ id: StageLane['laneId']; resumes: number }>(
    'select id, resumes from tk.lanes where resumes > 0',
  );
  const counts = Object.fromEntries(rows.map(({ id, resumes }) => [keyOf.get(id), resumes]));
  expect({ counts, suspended, resumed }).toEqual(vector.expected);
});

interface Outcome {
  readonly completed: boolean | null;
  readonly interrupted: boolean;
  readonly failed: boolean;
  readonly partial: boolean;
  readonly error: string | null;
}

// a turn that came to no end of its own is handed back, one that failed ends with its code
test.each(vectorsOf<Outcome, { clear: boolean }>('recovery.json', 'resume.afterTurn'))(
  'rows keep the mark of an interruption as the rules do: %s',
  async (_, { input, expected }) => {
    const { worker, turn } = await claimed();
    await stage.rows("update tk.lanes set resume_pending = 'restart_timeout'");
    const isCutOff = input.interrupted || input.partial || input.completed === false;
    if (isCutOff) await stage.lanes.handBack(worker, [{ ...turn, hadEffect: true, reason: 'shutdown_timeout' }]);
    else if (input.failed || input.error !== null)
      await stage.commit(worker, turn, { status: 'error', reply: null, error: { code: 'agent_error' } });
    else await stage.commit(worker, turn);
    const [lane] = await stage.rows('select resume_pending is null as cleared, turn_id from tk.lanes');
    expect(lane).toEqual({ cleared: expected.clear, turn_id: null });
  },
);

import {
  type BootId,
  type ClaimedTurn,
  type ClaimRequest,
  type CommitRequest,
  type EventId,
  interruptLostTurns,
  type TenantId,
} from '@turnkeeper/core';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { claimOf, commitOf, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let tenant: TenantId;
let rounds = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
});
afterAll(() => stage.close());

/** What some process does next; `pick` chooses among what there is. */
interface Step {
  readonly do: (typeof DEEDS)[number];
  readonly worker: number;
  readonly pick: number;
}

const DEEDS = [
  'accept',
  'claim',
  'claim',
  'commit',
  'commit',
  'commitStale',
  'repeatClaim',
  'handBack',
  'handBackAfterEffect',
  'cancel',
  'kill',
  'killAndInterrupt',
  'interrupt',
] as const;
const LANES = 2;
const WORKERS = 2;
const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(...DEEDS),
  worker: fc.nat({ max: WORKERS - 1 }),
  pick: fc.nat({ max: 999 }),
});

/** Some processes over some lanes. Each remembers what it was told, as a real one would, and may be dead without knowing. */
class World {
  readonly lanes: readonly StageLane[];
  readonly workers: BootId[] = [];
  readonly turns: {
    readonly bootId: BootId;
    readonly request: ClaimRequest;
    readonly turn: ClaimedTurn;
    readonly commit: CommitRequest;
  }[] = [];
  readonly accepted: EventId[] = [];
  readonly cancelled = new Set<EventId>();

  constructor() {
    const round = rounds++;
    this.lanes = Array.from({ length: LANES }, (_, i) => stage.lane(tenant, `${round}-${i}`));
  }

  async run(step: Step): Promise<void> {
    const bootId = chosen(this.workers, step.worker);
    if (bootId === undefined) return;
    if (step.do === 'accept') return this.accept(1 + (step.pick % 3), step.pick);
    if (step.do === 'claim') return this.#claim(bootId, this.lanes.map(claimOf));
    if (step.do === 'cancel') return this.#cancel(chosen(this.accepted, step.pick));
    if (step.do === 'kill' || step.do === 'killAndInterrupt') await this.#kill(step.worker, bootId);
    if (step.do === 'interrupt' || step.do === 'killAndInterrupt')
      return void (await interruptLostTurns(stage.repair, 2));
    const mine = this.turns.filter((entry) => entry.bootId === bootId);
    await this.#act(step.do, step.do === 'commit' || step.do === 'handBack' ? mine.at(-1) : chosen(mine, step.pick));
  }

  async #act(deed: Step['do'], entry: World['turns'][number] | undefined): Promise<void> {
    if (entry === undefined) return;
    const { bootId, commit, turn, request } = entry;
    if (deed === 'commit' || deed === 'commitStale') await stage.lanes.commit(bootId, [commit]);
    // a claim whose answer was late is sent again, by a process that may not know that its turn is over
    if (deed === 'repeatClaim') await this.#claim(bootId, [request]);
    if (deed === 'handBack' || deed === 'handBackAfterEffect') {
      await stage.lanes.handBack(bootId, [
        { ...turn, hadEffect: deed === 'handBackAfterEffect', reason: 'local_failure' },
      ]);
    }
  }

  async accept(count: number, from: number): Promise<void> {
    const lanes = Array.from({ length: count }, (_, i) => chosen(this.lanes, from + i)).filter(
      (lane) => lane !== undefined,
    );
    const items = lanes.map((lane) => message(lane, 'x'));
    await stage.accept(items);
    this.accepted.push(...items.map((item) => item.eventId));
  }

  async #claim(bootId: BootId, requests: readonly ClaimRequest[]): Promise<void> {
    const results = await stage.claims(bootId, requests);
    for (const [i, turn] of results.entries()) {
      const request = requests[i];
      if (turn.result === 'claimed' && request !== undefined)
        this.turns.push({ bootId, request, turn, commit: commitOf(turn) });
    }
  }

  async #cancel(event: EventId | undefined): Promise<void> {
    if (event === undefined) return;
    const { result } = await stage.control.cancelRun(tenant, event);
    if (result === 'cancelled') this.cancelled.add(event);
  }

  /** The leader declares it dead. Its place is taken; what it knew stays known, and is used by nobody but a process that woke too late. */
  async #kill(index: number, bootId: BootId): Promise<void> {
    await stage.kill(bootId);
    for (const entry of this.turns.filter((turn) => turn.bootId === bootId).slice(-1)) await this.#act('commit', entry);
    this.workers[index] = await stage.worker();
  }

  /** Everything that was accepted is brought to its end by a healthy worker. */
  async finish(): Promise<void> {
    await stage.rows('update tk.workers set state = 3, ended_at = clock_timestamp() where state = 0');
    while ((await interruptLostTurns(stage.repair, 100)).length > 0);
    const bootId = await stage.worker();
    for (;;) {
      const turns = (await stage.claims(bootId, this.lanes.map(claimOf))).filter((turn) => turn.result === 'claimed');
      if (turns.length === 0) return;
      await stage.lanes.commit(
        bootId,
        turns.map((turn) => commitOf(turn)),
      );
    }
  }
}

function chosen<T>(list: readonly T[], index: number): T | undefined {
  return list[index % Math.max(1, list.length)];
}

/** I1, I2: the events that claim to be in work are exactly those of the lane's turn; what is owed a resume exists. */
const BROKEN_INVARIANTS = `
  select 'turn without unfinished events' as broken from tk.lanes l where turn_id is not null and not exists (
    select 1 from tk.events e where e.slot = l.slot and e.tenant_id = l.tenant_id and e.lane_id = l.id and e.ord = any (l.turn_ords) and e.state < 2)
  union all select 'turn of a finished event' from tk.lanes l join tk.events e on e.slot = l.slot and e.tenant_id = l.tenant_id and e.lane_id = l.id
    where l.turn_id is not null and e.ord = any (l.turn_ords) and e.state >= 10
  union all select 'running turn that has ended' from tk.lanes l join tk.turns t on t.id = l.turn_id
  union all select 'resuming event that nothing resumes' from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
    where e.state = 1 and l.resume_of is null and not (l.turn_id is not null and e.ord = any (l.turn_ords))
  union all select 'resume of nothing' from tk.lanes l where l.resume_of is not null and not exists (
    select 1 from tk.events e where e.slot = l.slot and e.tenant_id = l.tenant_id and e.lane_id = l.id and e.state = 1)
  union all select 'two effects of one event' from (select unnest(event_ids) from tk.turns where state in (1, 2, 3, 4) group by 1 having count(*) > 1) x
  union all select 'two resumes with effect of one turn' from (select resume_of from tk.turns where resume_of is not null and state in (1, 2, 3, 4) group by 1 having count(*) > 1) x
  union all select 'one fence for two turns' from (select slot, lane_id, fence from tk.turns group by 1, 2, 3 having count(*) > 1) x
  union all select 'two turns at once' from (select started_at, lag(ended_at) over (partition by lane_id order by seq) before from tk.turns) x where before > started_at
  union all select 'later event consumed first' from (
    select seq, lag(seq) over (partition by lane_id order by ord) before from tk.events where seq is not null) x where before >= seq
  union all select 'seq used twice' from (
    select lane_id, end_seq from tk.turns group by 1, 2 having count(*) > 1) x`;

async function runRound(sessions: readonly (readonly Step[])[]): Promise<void> {
  await stage.rows('truncate tk.lanes, tk.events, tk.messages, tk.turns, tk.sessions, tk.dedupe_keys cascade');
  const world = new World();
  for (let i = 0; i < WORKERS; i++) world.workers.push(await stage.worker());
  await world.accept(10, 0);
  await Promise.all(
    sessions.map(async (steps) => {
      for (const step of steps) await world.run(step);
    }),
  );
  expect(await stage.rows(BROKEN_INVARIANTS)).toEqual([]);
  await world.finish();
  expect(await stage.rows(BROKEN_INVARIANTS)).toEqual([]);
  const events = await stage.rows<{ id: EventId; state: number; replies: number }>(
    `select e.id, e.state, (select count(*)::int from tk.messages m where m.run_id = e.id and m.role = 'assistant') as replies from tk.events e`,
  );
  expect(events.map((event) => event.id).sort()).toEqual([...world.accepted].sort());
  for (const event of events) {
    if (world.cancelled.has(event.id)) expect(event).toMatchObject({ state: 14, replies: 0 });
    else if (event.state === 20) expect(event.replies).toBe(0);
    else expect(event).toMatchObject({ state: 10, replies: 1 });
  }
}

// Seen to fail with a commit that tests less than the pair, an id that names two turns, a hand-back that forgets the
// resume it ran, and an interrupt that owes none.
test('whatever processes do, in whatever order: one turn per lane, one effect per event, first in first out, nothing is lost', async () => {
  const sessions = fc.array(fc.array(stepArbitrary, { minLength: 10, maxLength: 30 }), { minLength: 1, maxLength: 3 });
  await fc.assert(fc.asyncProperty(sessions, runRound), { numRuns: 40, endOnFailure: true });
}, 120_000);

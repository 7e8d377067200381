import { describe, expect, it } from 'vitest';
import type { BootId } from '../ids.ts';
import type { HandBackRequest, RunningTurn } from '../ports/lane.ts';
import type { LockAnswer, WakeUp } from '../ports/signals.ts';
import { recordingCounter, SeededIds, silentLogger, VirtualClock } from '../testing/index.ts';
import { TurnKeeper } from './keep-turns.ts';
import { Scheduler } from './scheduler.ts';
import { turnOf } from './turn.fixture.ts';
import { Turns } from './turn.ts';

const me = 'me' as BootId;

function scene() {
  const clock = new VirtualClock();
  const scheduler = new Scheduler({
    ...{
      clock,
      slotsMax: 10,
      capOf: () => 10,
      lanesMax: 10,
      slice: { turns: 4, ms: 2000 },
      deferMs: 1000,
      lingerMs: 0,
    },
  });
  const turns = new Turns({
    ...{ clock, ids: new SeededIds(), turnMsMax: 1e9, inactiveMsMax: 1e9 },
    answer: () => new Promise(() => undefined),
  });
  const rows = new Set<string>();
  const asked: string[][] = [];
  const handedBack: HandBackRequest[] = [];
  const woken: WakeUp[] = [];
  const world = { running: [] as RunningTurn[], locks: [] as LockAnswer[], handBack: true };
  const staleFences = recordingCounter('at');
  const keeper = new TurnKeeper({
    ...{ bootId: me, turns, scheduler, log: silentLogger, staleFences, partitionOf: () => 3 },
    wakeUps: { wake: (_partition, some) => woken.push(...some) },
    locks: { renew: async () => world.locks },
    store: {
      running: async () => world.running,
      stillRunning: async (some) => {
        asked.push(some.map(({ turnId }) => turnId));
        return some.map(({ turnId }) => rows.has(turnId));
      },
      handBack: async (_boot, requests) => {
        handedBack.push(...requests);
        return requests.map(() => world.handBack);
      },
    },
  });
  /** A lane of this worker with a running turn, in its row, too. */
  const run = (n: number) => {
    const claimed = turnOf(n);
    scheduler.wake(claimed.lane, null);
    scheduler.next(1);
    turns.announce(claimed.fence.turnId);
    rows.add(claimed.fence.turnId);
    return { claimed, end: turns.run(claimed).then(({ end }) => end) };
  };
  return { keeper, turns, rows, asked, handedBack, woken, world, staleFences, run };
}

function inStore(n: number, ageMs: number): RunningTurn {
  const { lane, fence } = turnOf(n);
  return { lane, fence, startedAt: new Date(0), ageMs };
}

describe('the poll', () => {
  it('aborts the turns whose rows say that they ended, counts them, and leaves the others', async () => {
    const { keeper, turns, rows, run, staleFences } = scene();
    const [ended, goesOn] = [run(1), run(2)];
    rows.delete(ended.claimed.fence.turnId);
    await keeper.poll();
    expect(await ended.end).toEqual({ how: 'lost' });
    expect(turns.atWork()).toEqual([goesOn.claimed]);
    expect(staleFences.seen).toEqual({ poll: 1 });
  });
});

describe('the search for unknown turns', () => {
  it('hands back what runs under my name for long without my knowing it, and tells the owner', async () => {
    const { keeper, run, handedBack, woken, world } = scene();
    const known = run(1);
    world.running = [inStore(1, 60_000), inStore(2, 60_000), inStore(3, 4_000)];
    await keeper.handBackUnknown();
    expect(handedBack.map(({ fence }) => fence.turnId)).toEqual([turnOf(2).fence.turnId]);
    expect(woken).toEqual([{ lane: turnOf(2).lane, ord: null }]);
    expect(known.claimed.fence.turnId).not.toBe(turnOf(2).fence.turnId);
  });

  it('leaves a turn alone whose claim is under way', async () => {
    const { keeper, turns, handedBack, world } = scene();
    turns.announce(turnOf(1).fence.turnId);
    world.running = [inStore(1, 60_000)];
    await keeper.handBackUnknown();
    expect(handedBack).toEqual([]);
  });

  it('tells nobody of a turn that was not mine any more', async () => {
    const { keeper, woken, world } = scene();
    world.running = [inStore(1, 60_000)];
    world.handBack = false;
    await keeper.handBackUnknown();
    expect(woken).toEqual([]);
  });
});

describe('the renewal of locks', () => {
  const other: LockAnswer = { held: 'other', by: 'rival' as BootId };

  it('aborts no turn for a lost lock: it looks at the row', async () => {
    const { keeper, turns, asked, run, world } = scene();
    const [first, second] = [run(1), run(2)];
    world.locks = [{ held: 'mine' }, other];
    await keeper.renewLocks();
    expect(asked).toEqual([[second.claimed.fence.turnId]]);
    expect(turns.atWork()).toEqual([first.claimed, second.claimed]);
  });

  it('aborts the turn whose lock a rival holds and whose row says that it ended', async () => {
    const { keeper, rows, run, world } = scene();
    const { claimed, end } = run(1);
    rows.delete(claimed.fence.turnId);
    world.locks = [other];
    await keeper.renewLocks();
    expect(await end).toEqual({ how: 'lost' });
  });

  it('asks nothing while Redis is away', async () => {
    const { keeper, asked, run, world } = scene();
    run(1);
    world.locks = [{ held: 'away' }];
    await keeper.renewLocks();
    expect(asked).toEqual([]);
  });
});

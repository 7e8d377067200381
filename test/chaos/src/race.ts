import {
  type BootId,
  type ClaimedTurn,
  type EventId,
  LaneBatches,
  type LaneLocks,
  type LaneRef,
  LaneRunner,
  type LaneStore,
  Scheduler,
  TurnStream,
  Turns,
  type WakeUp,
} from '@turnkeeper/core';
import { SeededIds, silentLogger } from '@turnkeeper/core/testing';
import { systemClock as clock, systemIds as ids } from '@turnkeeper/platform/process';
import { openRedis, RedisLaneLocks } from '@turnkeeper/queue';
import { message, openStage, type Stage, type StageLane } from '@turnkeeper/storage/testing';

/** Where a worker is in leaving a lane when an event arrives there. */
export const MOMENTS = ['after the last commit', 'before the release', 'after the release', 'after the look'] as const;
type Moment = (typeof MOMENTS)[number];

/** `lost`: it reaches nobody, which only a look that comes after the event can make up for. */
const WAKES = ['to who leaves', 'to a rival', 'lost'] as const;

interface Round {
  readonly moment: Moment;
  /** The leaving worker stands still until the event is stored and told of; else both go on side by side. */
  readonly isHeld: boolean;
  readonly wake: (typeof WAKES)[number];
}

export interface RaceOptions {
  readonly urls: { readonly postgres: string; readonly redis: string };
  readonly rounds: number;
  /** A round that takes longer is lost. Longer than any pause of a loaded machine. */
  readonly deadlineMs?: number;
  readonly seed?: number;
  /** A fault in the program, to see that the race finds it. */
  readonly broken?: 'does not look again' | null;
}

export interface RaceReport {
  /** Events that arrived in each moment. */
  readonly arrived: Readonly<Record<Moment, number>>;
  /** Rounds of which an event waited for ever, as sentences. */
  readonly lost: readonly string[];
  /** Events that were answered more than once. */
  readonly doubled: number;
  readonly slowestMs: number;
}

const LANES = 16;
const LINGER_MS = 3;

/**
 * "An event arrives between 'queue empty' and 'release'", so many rounds: two workers made of the real parts over Postgres and
 * Redis, without scan, sweep or poll; the one timer ends the time in hand. An event that gets lost in the gap is never answered, and found by its deadline.
 */
export async function race(options: RaceOptions): Promise<RaceReport> {
  const stage = await openStage(options.urls);
  const prefix = `race${ids.next().slice(-12)}`;
  const link = await openRedis({ url: options.urls.redis, keyPrefix: prefix, clock, ids, logger: silentLogger });
  try {
    const locks = new RedisLaneLocks({ link, partitionOf: () => 0 });
    const scene = new Race(options, stage);
    // one keeps its idle lanes in hand for a moment, the other releases them at once
    const [keeps, releases] = [
      { scene, stage, locks, lingerMs: LINGER_MS },
      { scene, stage, locks, lingerMs: 0 },
    ];
    scene.workers = [await startWorker(keeps), await startWorker(releases)];
    const inHand = setInterval(() => scene.workers[0]?.runner.endLinger(), 1);
    const tenant = await stage.tenant('race');
    await Promise.all(Array.from({ length: LANES }, (_, n) => scene.runLane(stage.lane(tenant, `lane-${n}`))));
    clearInterval(inHand);
    await Promise.all(scene.workers.map(({ runner }) => runner.stop()));
    return scene.report();
  } finally {
    await link[Symbol.asyncDispose]();
    await stage.close();
  }
}

interface RaceWorker {
  readonly bootId: BootId;
  readonly runner: LaneRunner;
}

/** The rounds, and what was seen of them. */
class Race {
  workers: readonly RaceWorker[] = [];
  readonly broken: RaceOptions['broken'];
  readonly #stage: Stage;
  readonly #ids: SeededIds;
  readonly #deadlineMs: number;
  #left: number;
  readonly #armed = new Map<string, { round: Round; arrive: (by: BootId) => Promise<void> }>();
  readonly #answered = new Map<EventId, number>();
  readonly #waiting = new Map<EventId, () => void>();
  readonly #arrived = Object.fromEntries(MOMENTS.map((moment) => [moment, 0])) as Record<Moment, number>;
  readonly #lost: string[] = [];
  #slowestMs = 0;

  constructor({ rounds, deadlineMs = 60_000, seed = 1, broken = null }: RaceOptions, stage: Stage) {
    this.#stage = stage;
    this.#left = rounds;
    this.#deadlineMs = deadlineMs;
    this.#ids = new SeededIds(seed);
    this.broken = broken;
  }

  report(): RaceReport {
    const doubled = [...this.#answered.values()].filter((count) => count > 1).length;
    return { arrived: this.#arrived, lost: this.#lost, doubled, slowestMs: Math.round(this.#slowestMs) };
  }

  /** Rounds in one lane until none is left; after a lost one nothing more is known of the lane. */
  async runLane(lane: StageLane): Promise<void> {
    while (this.#left > 0) {
      this.#left--;
      const round = this.#draw();
      const startedMs = clock.monotonicMs();
      const second = Promise.withResolvers<void>();
      this.#armed.set(lane.laneId, {
        round,
        arrive: (by) => this.#send(lane, round.wake, by).then(({ answer }) => void answer.then(second.resolve)),
      });
      const first = await this.#send(lane, 'to who leaves', this.workers[0]?.bootId);
      const isOver = Promise.all([first.answer, second.promise]).then(() => true);
      const over = new AbortController();
      const isLate = clock.sleep(this.#deadlineMs, over.signal).then(() => false);
      const inTime = await Promise.race([isOver, isLate]);
      over.abort();
      this.#slowestMs = Math.max(this.#slowestMs, clock.monotonicMs() - startedMs);
      if (inTime) continue;
      this.#lost.push(`${round.moment}, ${round.isHeld ? 'held' : 'side by side'}, wake-up ${round.wake}`);
      return;
    }
  }

  /** A worker is there with these lanes. */
  async at(moment: Moment, lanes: readonly LaneRef[], by: BootId): Promise<void> {
    for (const { laneId } of lanes) {
      const armed = this.#armed.get(laneId);
      if (armed?.round.moment !== moment) continue;
      this.#armed.delete(laneId);
      this.#arrived[moment]++;
      const arrived = armed.arrive(by);
      if (armed.round.isHeld) await arrived;
      else void arrived;
    }
  }

  answered({ events }: ClaimedTurn): void {
    for (const { eventId } of events) {
      this.#answered.set(eventId, (this.#answered.get(eventId) ?? 0) + 1);
      this.#waiting.get(eventId)?.();
      this.#waiting.delete(eventId);
    }
  }

  #draw(): Round {
    const moment = this.#pick(MOMENTS);
    const wake = this.#pick(WAKES);
    // without a wake-up only what was stored before the look is found by it
    if (wake !== 'lost') return { moment, wake, isHeld: this.#ids.random() < 0.5 };
    return { moment: moment === 'after the look' ? 'after the release' : moment, wake, isHeld: true };
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#ids.random() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Stores an event, then tells of it, as an ingress does. */
  async #send(lane: StageLane, wake: Round['wake'], leaving: BootId | undefined) {
    const item = message(lane, 'hello');
    const answer = new Promise<void>((resolve) => this.#waiting.set(item.eventId, resolve));
    const [result] = await this.#stage.accept([item]);
    if (result?.result !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(result)}`);
    const { slot, tenantId, laneId } = lane;
    const wakeUp: WakeUp = { lane: { slot, tenantId, laneId }, ord: result.ord };
    const told = this.workers.find(({ bootId }) => (wake === 'to who leaves') === (bootId === leaving));
    if (wake !== 'lost') told?.runner.receive(0, [wakeUp]);
    return { answer };
  }
}

interface RaceWorkerParts {
  readonly scene: Race;
  readonly stage: Stage;
  readonly locks: LaneLocks;
  readonly lingerMs: number;
}

async function startWorker({ scene, stage, locks, lingerMs }: RaceWorkerParts): Promise<RaceWorker> {
  const bootId = await stage.worker();
  const turns = new Turns({
    ...{ clock, ids, turnMsMax: 60_000, inactiveMsMax: 60_000 },
    answer: async () => ({ how: 'replied', reply: { text: 'hello', usage: null } }),
  });
  const scheduler = new Scheduler({
    ...{
      clock,
      slotsMax: 100,
      capOf: () => 100,
      lanesMax: 1_000,
      slice: { turns: 4, ms: 2_000 },
      deferMs: 1_000,
      lingerMs,
    },
  });
  const nothing = { inc: () => undefined, observe: () => undefined };
  const ownership = { partitionOf: () => 0, mayClaim: () => true, goneBoots: () => new Set<BootId>() };
  const batches = new LaneBatches({
    ...{ bootId, goneBoots: ownership.goneBoots, clock, ids },
    ...watched(scene, { bootId, store: stage.lanes, locks }),
    routeSession: () => Promise.reject(new Error('no lane of this race has a session to decide')),
    metrics: { claimBatchSize: nothing, commitBatchSize: nothing, commitSeconds: nothing },
  });
  const runner = new LaneRunner({
    ...{ scheduler, batches, turns, ownership, clock, ids, log: silentLogger, wakeUps: { wake: () => undefined } },
    stream: new TurnStream(NO_STREAM, clock),
    replies: { owedFor: () => ({ kind: 'proven' }), committed: (turn) => scene.answered(turn) },
    words: { keep: async () => undefined },
    crashPoints: { hit: () => undefined },
    metrics: {
      ...{ staleFences: nothing, eventsSettled: nothing, turnsTotal: nothing, activations: nothing },
      ...{ commitsRefused: nothing, loopStops: nothing, turnStartSeconds: nothing, turnSeconds: nothing },
    },
  });
  return { bootId, runner };
}

/** The same store and locks; the race is told where their caller is. */
function watched(
  scene: Race,
  { bootId, store, locks }: { readonly bootId: BootId; readonly store: LaneStore; readonly locks: LaneLocks },
): { readonly store: Pick<LaneStore, 'claim' | 'commit' | 'handBack' | 'look'>; readonly locks: LaneLocks } {
  return {
    store: {
      claim: (by, requests, how) => store.claim(by, requests, how),
      handBack: (by, requests) => store.handBack(by, requests),
      commit: async (by, requests) => {
        const results = await store.commit(by, requests);
        const lanes = requests.map(({ lane }) => lane);
        await scene.at('after the last commit', lanes, bootId);
        return results;
      },
      look: async (lanes) => {
        const work = scene.broken === null ? await store.look(lanes) : lanes.map(() => false);
        await scene.at('after the look', lanes, bootId);
        return work;
      },
    },
    locks: {
      take: (by, lanes, gone) => locks.take(by, lanes, gone),
      renew: (by, lanes) => locks.renew(by, lanes),
      release: async (by, lanes) => {
        await scene.at('before the release', lanes, bootId);
        const isDone = await locks.release(by, lanes);
        await scene.at('after the release', lanes, bootId);
        return isDone;
      },
    },
  };
}

const NO_STREAM = {
  connected: false,
  isWatched: () => false,
  publish: () => undefined,
  subscribe: () => () => undefined,
  subscribeTenant: () => () => undefined,
};

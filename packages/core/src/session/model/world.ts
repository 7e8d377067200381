import type { BootId, LaneRef, TurnId } from '../../ids.ts';
import type { WakeUp } from '../../ports/signals.ts';
import { SeededIds } from '../../testing/seeded-ids.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import type { Broken } from './broken.ts';
import { Interleaver } from './interleaver.ts';
import { laneRef, MemoryLanes } from './memory-lanes.ts';
import { MemoryLocks } from './memory-locks.ts';
import { ModelWorker } from './model-worker.ts';

/** What may happen in a run of the world: how often, each. */
export interface Budget {
  readonly events: number;
  readonly kills?: number;
  readonly falseDeaths?: number;
  readonly flushes?: number;
  readonly handOvers?: number;
  readonly stops?: number;
  readonly lostWakeUps?: number;
  readonly drains?: number;
  /** Claims that their database did not keep. */
  readonly lostClaims?: number;
  /** A minute passes at once, for everybody. */
  readonly clockJumps?: number;
}

export interface WorldOptions {
  readonly seed: number;
  readonly budget: Budget;
  readonly broken?: Broken;
  /** Probability that a request's outcome is lost. */
  readonly faultRate?: number;
  /** Probability that somebody else holds a lane's row when it is claimed. */
  readonly skipRate?: number;
  /** How long idle lanes stay in hand; default 1,500 ms, of a world whose loops run every second. */
  readonly lingerMs?: number;
  /** The owner's scan runs; without it nothing repairs a lost wake-up. */
  readonly scan?: boolean;
}

type Happening = keyof Budget;

const LANES = [laneRef('a', '1'), laneRef('a', '2'), laneRef('b', '1')] as const;
const STEPS_MAX = 20_000;

/** Two workers over services in memory, and everything that may happen to them, in an order that a seed decides. */
export class World {
  readonly lanes: MemoryLanes;
  readonly failures: unknown[] = [];
  /** Turns that were stopped here though their rows say that they run. */
  readonly stoppedWrongly: TurnId[] = [];
  readonly #options: WorldOptions;
  readonly #clock = new VirtualClock();
  readonly #ids: SeededIds;
  readonly #steps: Interleaver;
  readonly #locks: MemoryLocks;
  readonly #workers: ModelWorker[] = [];
  readonly #left: Map<Happening, number>;
  readonly #wakeUps: WakeUp[] = [];
  readonly #signals: { readonly lane: LaneRef; readonly turnId: TurnId }[] = [];
  #owner: ModelWorker | null = null;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#ids = new SeededIds(options.seed);
    this.#steps = new Interleaver(this.#ids);
    this.#locks = new MemoryLocks(this.#steps, this.#clock);
    this.lanes = new MemoryLanes(this.#steps, this.#ids);
    this.#steps.faultRate = options.faultRate ?? 0;
    this.lanes.skipRate = options.skipRate ?? 0;
    this.lanes.fenceOnly = options.broken?.fenceOnly ?? false;
    this.#left = new Map(Object.entries(options.budget) as [Happening, number][]);
    this.#boot();
    this.#boot();
    this.#acquire();
  }

  /** Lets happen all that may, and then go on what goes on, until nothing moves. */
  async run(): Promise<void> {
    for (let i = 0; i < STEPS_MAX && this.#due().length > 0; i++) await this.#happen();
    this.#steps.faultRate = 0;
    this.lanes.skipRate = 0;
    for (let seconds = 0; seconds < 20; seconds++) {
      for (let i = 0; i < STEPS_MAX && !this.#isQuiet(); i++) {
        await this.#steps.next();
        await this.#arrive();
      }
      await this.#second();
    }
  }

  /** The events that will never end. */
  stranded(): number[] {
    return this.lanes.events.filter(({ state }) => state !== 'ended' && state !== 'discarded').map(({ ord }) => ord);
  }

  #isQuiet(): boolean {
    return this.#steps.isIdle && this.#wakeUps.length === 0 && this.#signals.length === 0;
  }

  #due(): Happening[] {
    return [...this.#left].filter(([, left]) => left > 0).map(([name]) => name);
  }

  async #happen(): Promise<void> {
    const throwOf = this.#ids.random();
    if (throwOf < 0.65) return this.#steps.next();
    if (throwOf < 0.8) return this.#arrive();
    if (throwOf < 0.85) return this.#second();
    const name = this.#steps.pick(this.#due().filter((each) => each !== 'lostWakeUps'));
    if (name === undefined) this.#left.clear();
    else {
      this.#left.set(name, (this.#left.get(name) ?? 0) - 1);
      this.#acts[name]();
    }
    return this.#steps.settle();
  }

  readonly #acts: Readonly<Record<Happening, () => void>> = {
    events: () => this.#accept(),
    lostWakeUps: () => undefined,
    lostClaims: () => {
      const lane = this.#steps.pick(LANES.filter((each) => this.lanes.currentTurn(each) !== null));
      if (lane !== undefined) this.lanes.loseClaim(lane);
    },
    clockJumps: () => void this.#clock.advance(60_000),
    flushes: () => {
      this.#locks.flush();
      this.#wakeUps.length = 0;
    },
    stops: () => {
      const lane = this.#anyLane();
      const turnId = this.lanes.stop(lane);
      if (turnId !== null) this.#signals.push({ lane, turnId });
    },
    handOvers: () => {
      this.#disown();
      if (this.#steps.chance(0.5)) this.#acquire();
    },
    kills: () => {
      const victim = this.#steps.pick(this.#workers.filter(({ up }) => up));
      if (victim === undefined) return;
      this.lanes.workers.set(victim.bootId, 'dead');
      this.#end(victim);
      this.#boot();
    },
    falseDeaths: () => {
      // it runs on, and takes itself for the owner, until its heartbeat tells it
      const victim = this.#steps.pick(this.#live());
      if (victim === undefined) return;
      this.lanes.workers.set(victim.bootId, 'dead');
      if (this.#owner === victim) this.#owner = null;
      this.#boot();
    },
    drains: () => {
      const victim = this.#steps.pick(this.#live());
      if (victim === undefined) return;
      victim.leaving = true;
      this.lanes.workers.set(victim.bootId, 'leaving');
      if (this.#owner === victim) this.#owner = null;
      victim.runner.giveAway(() => true);
      victim.owner = false;
      if (this.#steps.chance(0.5)) victim.turns.drain('shutdown', true);
      this.#boot();
    },
  };

  #accept(): void {
    const lane = this.#anyLane();
    const { ord } = this.lanes.accept(lane);
    const mayLose = this.#left.get('lostWakeUps') ?? 0;
    if (mayLose > 0 && this.#steps.chance(0.5)) this.#left.set('lostWakeUps', mayLose - 1);
    else this.#wakeUps.push({ lane, ord: String(ord) });
  }

  #anyLane(): LaneRef {
    return this.#steps.pick(LANES) ?? LANES[0];
  }

  #live(): ModelWorker[] {
    return this.#workers.filter(({ up, bootId }) => up && this.lanes.workers.get(bootId) === 'live');
  }

  #disown(): void {
    const from = this.#owner;
    this.#owner = null;
    if (from === null) return;
    from.owner = false;
    from.runner.giveAway(() => true);
  }

  #acquire(): void {
    const worker = this.#steps.pick(this.#live());
    if (worker === undefined || this.#owner !== null) return;
    this.#owner = worker;
    worker.owner = true;
    this.#scan(worker);
  }

  #scan(worker: ModelWorker): void {
    for (const lane of this.lanes.ready()) {
      if (!worker.scheduler.has(lane.laneId)) worker.runner.receive(0, [{ lane, ord: null }]);
    }
  }

  /** A wake-up or a signal arrives, if there is somebody to receive it. */
  #arrive(): Promise<void> {
    if (this.#owner === null) this.#acquire();
    const target = this.#steps.pick(this.#workers.filter(({ up, owner }) => up && owner));
    const wakeUp = this.#steps.pick(this.#wakeUps);
    if (wakeUp !== undefined && target !== undefined) {
      this.#wakeUps.splice(this.#wakeUps.indexOf(wakeUp), 1);
      target.runner.receive(0, [wakeUp]);
    }
    const signal = this.#signals.shift();
    if (signal !== undefined) {
      const { stopNamesLane } = this.#options.broken ?? {};
      const named = stopNamesLane ? this.lanes.currentTurn(signal.lane) : signal.turnId;
      for (const { turns } of this.#workers) {
        if (named === null || !turns.stop(named)) continue;
        if (this.lanes.currentTurn(signal.lane) === named) this.stoppedWrongly.push(named);
      }
    }
    return this.#steps.settle();
  }

  /** A second passes: what is done again and again is done. */
  async #second(): Promise<void> {
    await this.#clock.advance(1000);
    for (const worker of this.#workers) {
      if (!worker.up) continue;
      if (this.lanes.workers.get(worker.bootId) === 'dead') {
        void worker.runner.stop();
        this.#end(worker);
        continue;
      }
      worker.tick();
      if (this.#options.scan && worker.owner) this.#scan(worker);
    }
    for (const lane of this.lanes.interruptLost()) this.#wakeUps.push({ lane, ord: null });
    await this.#steps.settle();
  }

  #end(worker: ModelWorker): void {
    worker.up = false;
    worker.owner = false;
    if (this.#owner === worker) this.#owner = null;
    this.#steps.kill(worker.bootId);
  }

  #boot(): void {
    const bootId = this.#ids.next() as BootId;
    this.lanes.workers.set(bootId, 'live');
    this.#workers.push(
      new ModelWorker({
        ...{ bootId, steps: this.#steps, lanes: this.lanes, locks: this.#locks, clock: this.#clock, ids: this.#ids },
        wake: (wakeUps) => this.#wakeUps.push(...wakeUps),
        onFailure: (error) => this.failures.push(error),
        broken: this.#options.broken ?? {},
        lingerMs: this.#options.lingerMs ?? 1500,
      }),
    );
  }
}

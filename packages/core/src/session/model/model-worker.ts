import type { Clock, Ids } from '../../clock.ts';
import type { BootId } from '../../ids.ts';
import type { LiveStream, WakeUp } from '../../ports/signals.ts';
import { silentLogger } from '../../testing/telemetry.ts';
import { TurnKeeper } from '../keep-turns.ts';
import { LaneBatches } from '../lane-batches.ts';
import { LaneRunner } from '../run-lane.ts';
import { Scheduler } from '../scheduler.ts';
import { noCounter as counter, noHistogram as histogram } from '../turn.fixture.ts';
import { Turns } from '../turn.ts';
import { TurnStream } from '../turn-stream.ts';
import { type Broken, breakScheduler, breakServices } from './broken.ts';
import type { Interleaver } from './interleaver.ts';
import type { MemoryLanes } from './memory-lanes.ts';
import type { MemoryLocks } from './memory-locks.ts';

export interface ModelWorkerOptions {
  readonly bootId: BootId;
  readonly steps: Interleaver;
  readonly lanes: MemoryLanes;
  readonly locks: MemoryLocks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: (wakeUps: readonly WakeUp[]) => void;
  readonly onFailure: (error: unknown) => void;
  readonly broken: Broken;
  readonly lingerMs: number;
}

/** A worker made of the real parts. There is one partition, number 0. */
export class ModelWorker {
  readonly bootId: BootId;
  readonly scheduler: Scheduler;
  readonly turns: Turns;
  readonly runner: LaneRunner;
  readonly keeper: TurnKeeper;
  owner = false;
  leaving = false;
  up = true;

  constructor(options: ModelWorkerOptions) {
    const { bootId, steps, lanes, clock, ids, broken, lingerMs } = options;
    this.bootId = bootId;
    this.scheduler = new Scheduler({
      ...{ clock, slotsMax: 2, capOf: () => 2, lanesMax: 100, slice: { turns: 2, ms: 2000 }, deferMs: 1000, lingerMs },
    });
    this.turns = new Turns({
      ...{ clock, ids, turnMsMax: 1e9, inactiveMsMax: 1e9 },
      answer: async () => {
        await steps.step(bootId);
        return { how: 'replied', reply: { text: 'hello', usage: null } };
      },
    });
    const entries = breakScheduler(this.scheduler, broken);
    const { store, locks } = breakServices({ bootId, lanes, steps, entries, locks: options.locks }, broken);
    const goneBoots = () => new Set([...lanes.workers].flatMap(([id, state]) => (state === 'dead' ? [id] : [])));
    const ownership = { goneBoots, partitionOf: () => 0, mayClaim: () => this.owner && !this.leaving };
    const wakeUps = {
      wake: (_: number, some: readonly WakeUp[]) => (broken.noReact ? undefined : options.wake(some)),
    };
    const log = { ...silentLogger, failed: options.onFailure };
    const batchMetrics = { claimBatchSize: histogram, commitBatchSize: histogram, commitSeconds: histogram };
    this.runner = new LaneRunner({
      ...{ scheduler: this.scheduler, turns: this.turns, wakeUps, ownership, clock, ids, log },
      batches: new LaneBatches({
        ...{ bootId, store, locks, goneBoots, clock, ids, metrics: batchMetrics },
        routeSession: () => Promise.reject(new Error('no lane of this model has a session to decide')),
      }),
      stream: new TurnStream(noStream, clock),
      replies: { owedFor: () => ({ kind: 'proven' }), committed: () => undefined },
      words: { keep: async () => undefined },
      crashPoints: { hit: () => undefined },
      metrics: {
        ...{ staleFences: counter, eventsSettled: counter, turnsTotal: counter, activations: counter },
        ...{ commitsRefused: counter, loopStops: counter },
        ...{ turnStartSeconds: histogram, turnSeconds: histogram },
      },
    });
    this.keeper = new TurnKeeper({
      ...{ bootId, store, locks, turns: this.turns, scheduler: this.scheduler, wakeUps, log, staleFences: counter },
      partitionOf: () => 0,
    });
  }

  /** What a worker does again and again. */
  tick(): void {
    this.scheduler.wakeDeferred();
    this.runner.endLinger();
    this.runner.pump();
    for (const work of [this.keeper.poll(), this.keeper.renewLocks(), this.keeper.handBackUnknown()]) {
      work.catch(() => undefined);
    }
  }
}

const noStream: LiveStream = {
  connected: false,
  isWatched: () => false,
  publish: () => undefined,
  subscribe: () => () => undefined,
  subscribeTenant: () => () => undefined,
};

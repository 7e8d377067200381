import type { Clock, Ids } from '../clock.ts';
import type { BootId } from '../ids.ts';
import type { ClaimedTurn, CommitRequest, CommitResult } from '../ports/lane.ts';
import type { Counter, CrashPoints, Histogram, Logger } from '../ports/runtime.ts';
import type { WakeUps } from '../ports/signals.ts';
import type { LaneBatches } from './lane-batches.ts';
import type { Scheduler } from './scheduler.ts';
import type { StoppedWords } from './stopped-words.ts';
import type { Turns } from './turn.ts';
import type { TurnStream } from './turn-stream.ts';

export interface LaneRunnerOptions {
  readonly scheduler: Scheduler;
  readonly batches: LaneBatches;
  readonly turns: Turns;
  readonly stream: TurnStream;
  readonly replies: Replies;
  readonly words: Pick<StoppedWords, 'keep'>;
  readonly wakeUps: WakeUps;
  readonly ownership: LaneOwnership;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly crashPoints: CrashPoints;
  readonly metrics: LaneMetrics;
}

/** What this worker owns now. */
export interface LaneOwnership {
  partitionOf(slot: number): number;
  /** True while this worker owns the partition and is not leaving: it may claim its lanes. */
  mayClaim(partition: number): boolean;
  /** Processes that are dead or gone: their locks count as free. */
  goneBoots(): ReadonlySet<BootId>;
}

/** Where committed replies go. */
export interface Replies {
  /** What the reply of this turn owes, beside its storing. */
  owedFor(turn: ClaimedTurn): CommitRequest['owed'] | Promise<CommitRequest['owed']>;
  /** The turn and its reply are stored. */
  committed(turn: ClaimedTurn, request: CommitRequest, result: CommittedResult): void;
}

export type CommittedResult = Exclude<CommitResult, { readonly result: 'stale' }>;

export interface LaneMetrics {
  /** By `at`: claim, commit, hand_back, poll, settle. */
  readonly staleFences: Counter;
  /** By `status`. */
  readonly eventsSettled: Counter;
  readonly turnsTotal: Counter;
  /** By `kind`. */
  readonly loopStops: Counter;
  readonly commitsRefused: Counter;
  /** By `reason`. */
  readonly turnStartSeconds: Histogram;
  /** By `runtime` and `status`. */
  readonly turnSeconds: Histogram;
  /** By `outcome`. */
  readonly activations: Counter;
}

/** The rows of one lane in memory, and streams of them, for the unit tests of this folder. */
import {
  type Clock,
  type DurableEvent,
  type EventId,
  formatId,
  isFinal,
  type LaneRef,
  type LiveStream,
  type Logger,
  type RunInStream,
  type RunRecord,
  type StreamReads,
  type TenantId,
} from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { RunStreams } from '../runs/run-streams.ts';
import { LaneChanges } from '../streams/lane-changes.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import { SessionStreams } from '../streams/session-streams.ts';

/** What the rows of a lane tell of. */
export class TestLane {
  readonly events: DurableEvent[] = [];
  /** Where its readers went on. */
  readonly cursors: number[] = [];
  /** Where it stands cannot be read. */
  headIsAway = false;
  /** What changed in it cannot be read. */
  pagesAreAway = false;

  get head(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** What a transaction wrote, without a word to anybody. */
  write(seq: number, ...events: readonly Omit<DurableEvent, 'seq' | 'at' | 'sessionKey'>[]): void {
    const about = { seq, at: new Date().toISOString(), sessionKey: 'k' };
    this.events.push(...events.map((event) => ({ ...about, ...event })));
  }

  page(after: number) {
    this.cursors.push(after);
    return { events: this.events.filter(({ seq }) => seq > after), upTo: this.head, head: this.head };
  }
}

interface StreamParts {
  readonly rows: TestLane;
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly ask: <T>(answer: () => T, isAway: boolean) => Promise<T>;
  readonly live: Pick<LiveStream, 'subscribe'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly openStreams: OpenStreams;
}

/** `poll` asks for where lanes stand, as an ingress does once a second, until its signal aborts. */
export function testRunStreams(parts: StreamParts, metrics: Metrics) {
  const { live, clock, logger, openStreams } = parts;
  const reads = streamReads(parts);
  const changes = new LaneChanges({ reads, clock, logger });
  const replays = metrics.counter('stream_replays_total');
  const snapshots = { ask: () => undefined };
  const sessionStreams = new SessionStreams({ reads, changes, live, snapshots, clock, logger, replays });
  const deltasDropped = metrics.counter('stream_deltas_dropped_total');
  const streams = new RunStreams({ sessionStreams, reads, clock, openStreams, deltasDropped });
  return { streams, poll: (signal: AbortSignal) => changes.run(signal) };
}

function streamReads({ rows, runs, ask }: StreamParts): StreamReads {
  const headOf = (lane: LaneRef) => ({ lane, sessionKey: 'k', seq: rows.head, isRunning: false });
  return {
    heads: (lanes) => ask(() => lanes.map(headOf), rows.headIsAway),
    changes: (items) => ask(() => items.map(({ after }) => rows.page(after)), rows.pagesAreAway),
    pending: () => ask(() => [], false),
    tenantChanges: () => ask(() => ({ lanes: [], upTo: null, now: 0 }), false),
    seqsAt: (lanes) => ask(() => lanes.map(() => 0), false),
    runInStream: (_tenant: TenantId, runId: EventId) => ask(() => placeOf(rows, runs.get(runId)), false),
  };
}

function placeOf(rows: TestLane, run: RunRecord | undefined): RunInStream | null {
  if (run === undefined) return null;
  const own = rows.events.filter(({ runIds }) => runIds?.includes(formatId('run', run.runId)));
  const ended = own.find(({ type }) => type === 'run.settled')?.seq ?? null;
  const before = own[0] === undefined ? rows.head : own[0].seq - 1;
  return { before, ended, isFinal: isFinal(run.status), turnId: run.turnId };
}

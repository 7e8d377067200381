import {
  AppError,
  type Clock,
  type Counter,
  type LaneRef,
  type LiveEvent,
  type RunRecord,
  type StreamReads,
} from '@turnkeeper/core';
import type { StreamFilterQuery } from '@turnkeeper/protocol';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../http/access.ts';
import { SseConnection } from '../http/sse.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { SessionStreams, StreamSink } from '../streams/session-streams.ts';
import { LateSink, sseSink } from '../streams/sse-sink.ts';
import { type StreamCursor, streamFilter } from '../streams/stream-filter.ts';
import { RunSink } from './run-sink.ts';

export interface RunStreamsOptions {
  readonly sessionStreams: Pick<SessionStreams, 'join'>;
  readonly reads: Pick<StreamReads, 'runInStream'>;
  readonly clock: Clock;
  readonly openStreams: Pick<OpenStreams, 'add' | 'end' | 'reserve'>;
  /** Ephemeral events that slow readers lost. */
  readonly deltasDropped: Counter;
}

/** A lane whose events are kept for a run that may not be there yet. */
export interface JoinedRunLane {
  /** Answers with the stream of one of its runs; what was joined is closed with it. @throws AppError `gone`; StoreError */
  serve(reply: FastifyReply, from: RunStreamCall): Promise<void>;
  close(): void;
}

export interface RunStreamCall {
  readonly run: RunRecord;
  readonly caller: Caller;
  readonly filter: StreamFilterQuery;
  /** Where the reader goes on; null: with the first event of the run. */
  readonly cursor: StreamCursor | null;
  /** Said behind `stream.open`. */
  readonly accepted?: LiveEvent;
}

/** Streams of runs: the stream of the lane, from before the run to its end, without what concerns others. */
export class RunStreams {
  readonly #options: RunStreamsOptions;

  constructor(options: RunStreamsOptions) {
    this.#options = options;
  }

  /** Begins to keep a lane's events. @throws AppError `too_many_streams`; StoreError */
  async join(lane: LaneRef): Promise<JoinedRunLane> {
    const { sessionStreams, openStreams } = this.#options;
    const release = openStreams.reserve();
    const sink = new LateSink();
    try {
      const joined = await sessionStreams.join(lane, sink);
      const close = () => {
        joined.close();
        release();
      };
      return { close, serve: (reply, from) => this.#serve(reply, from, { sink, close, begin: joined.begin }) };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #serve(
    reply: FastifyReply,
    from: RunStreamCall,
    { sink, close, begin }: { readonly sink: LateSink; close(): void; begin(after: StreamCursor): Promise<void> },
  ): Promise<void> {
    const { reads, clock, openStreams, deltasDropped: dropped } = this.#options;
    const { run, caller, filter, cursor } = from;
    const place = await reads.runInStream(run.tenantId, run.runId);
    if (place === null) throw new AppError({ code: 'gone', message: 'the run has been deleted meanwhile' });
    const connection = new SseConnection(reply, { subject: run, clock, dropped });
    connection.onEnd(close);
    openStreams.add(connection, { kind: 'run', caller });
    const now = () => new Date(clock.nowMs()).toISOString();
    const target = withAcceptance(sseSink(connection, streamFilter(filter), now), from.accepted);
    sink.target = new RunSink({ ...{ run, place, cursor, target, now }, end: () => connection.end() });
    const start = cursor === null || cursor.seq <= place.before ? { seq: place.before, told: 0 } : cursor;
    // the answer has begun: a store that is away now can only end it, and the reader comes back with its cursor
    begin(start).catch(() => openStreams.end(connection));
  }
}

function withAcceptance(target: StreamSink, accepted: LiveEvent | undefined): StreamSink {
  if (accepted === undefined) return target;
  const say: StreamSink['say'] = (type, data) => {
    target.say(type, data);
    if (type === 'stream.open') target.ephemeral(accepted);
  };
  return { ...target, say };
}

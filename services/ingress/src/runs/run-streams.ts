import {
  AppError,
  type Clock,
  type Counter,
  type LaneRef,
  type LiveEvent,
  type RunInStream,
  type RunRecord,
  type StreamReads,
} from '@turnkeeper/core';
import type { StreamFilterQuery } from '@turnkeeper/protocol';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../http/access.ts';
import { SseConnection } from '../http/sse.ts';
import type { OpenStream, OpenStreams } from '../streams/open-streams.ts';
import type { SessionStreams, StreamSink } from '../streams/session-streams.ts';
import { LateSink, sseSink } from '../streams/sse-sink.ts';
import { type StreamCursor, streamFilter } from '../streams/stream-filter.ts';
import { RunSink, type RunSinkOptions } from './run-sink.ts';

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
  /** As `serve`, for who makes an answer of its own from what concerns the run: `reader` is told all of it, then ended. */
  follow(reader: RunReader, from: Pick<RunStreamCall, 'run' | 'caller'>): Promise<void>;
  close(): void;
}

/** Who follows a run to its end. */
export interface RunReader extends OpenStream {
  readonly sink: StreamSink;
  /** Everything has been told. */
  end(): void;
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
    const release = openStreams.reserve(lane.tenantId);
    const sink = new LateSink();
    try {
      const joined = await sessionStreams.join(lane, sink);
      const close = () => {
        joined.close();
        release();
      };
      const lateLane = { sink, close, begin: joined.begin };
      return {
        close,
        serve: (reply, from) => this.#serve(reply, from, lateLane),
        follow: (reader, from) => this.#follow(reader, from, lateLane),
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #serve(reply: FastifyReply, from: RunStreamCall, lane: LateLane): Promise<void> {
    const { clock, deltasDropped: dropped } = this.#options;
    const { run, caller, filter, cursor } = from;
    const place = await this.#placeOf(run);
    const connection = new SseConnection(reply, { subject: run, clock, dropped });
    const target = withAcceptance(sseSink(connection, streamFilter(filter), this.#now), from.accepted);
    this.#begin(connection, { run, caller, cursor, place, target }, lane);
  }

  async #follow(reader: RunReader, { run, caller }: Pick<RunStreamCall, 'run' | 'caller'>, lane: LateLane) {
    const place = await this.#placeOf(run);
    this.#begin(reader, { run, caller, cursor: null, place, target: reader.sink }, lane);
  }

  async #placeOf(run: RunRecord): Promise<RunInStream> {
    const place = await this.#options.reads.runInStream(run.tenantId, run.runId);
    if (place === null) throw new AppError({ code: 'gone', message: 'the run has been deleted meanwhile' });
    return place;
  }

  #begin(
    stream: OpenStream & { end(): void },
    { caller, ...from }: RunStart & { readonly caller: Caller },
    { sink, close, begin }: LateLane,
  ): void {
    const { openStreams } = this.#options;
    const { cursor, place } = from;
    stream.onEnd(close);
    openStreams.add(stream, { kind: 'run', caller });
    sink.target = new RunSink({ ...from, now: this.#now, end: () => stream.end() });
    const start = cursor === null || cursor.seq <= place.before ? { seq: place.before, told: 0 } : cursor;
    // the answer has begun: a store that is away now can only end it, and the reader comes back with its cursor
    begin(start).catch(() => openStreams.end(stream));
  }

  readonly #now = () => new Date(this.#options.clock.nowMs()).toISOString();
}

type RunStart = Pick<RunSinkOptions, 'run' | 'cursor' | 'place' | 'target'>;

/** A joined lane whose sink has no target yet. */
interface LateLane {
  readonly sink: LateSink;
  close(): void;
  begin(after: StreamCursor): Promise<void>;
}

function withAcceptance(target: StreamSink, accepted: LiveEvent | undefined): StreamSink {
  if (accepted === undefined) return target;
  const say: StreamSink['say'] = (type, data) => {
    target.say(type, data);
    if (type === 'stream.open') target.ephemeral(accepted);
  };
  return { ...target, say };
}

import {
  type Clock,
  formatId,
  isFinal,
  type LaneRef,
  type LiveEvent,
  type LiveStream,
  type Logger,
  type RunRecord,
} from '@turnkeeper/core';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../http/access.ts';
import { SseConnection } from '../http/sse.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { RunWaiters, WaiterPlace } from './run-waiters.ts';

export interface RunStreamsOptions {
  readonly live: Pick<LiveStream, 'subscribe'>;
  readonly waiters: Pick<RunWaiters, 'reserve'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly openStreams: Pick<OpenStreams, 'add' | 'end' | 'reserve'>;
}

/** Live events of a lane, kept from before its run was read so that none falls between the two. */
export interface LaneFeed {
  /** Hands over what was kept, in order, and then each event as it comes. */
  follow(onEvent: (event: LiveEvent) => void): void;
  /** Taken with the feed, so that a stream that has begun is not refused any more. */
  readonly place: WaiterPlace;
  close(): void;
}

const KEPT_EVENTS_MAX = 1_000;
/** Longer than any stream is open. */
const WAIT_MS_MAX = 2 * 3_600_000;

/**
 * The live stream of one run: `stream.open`, then what the lane's worker says about the run, then `run.settled`, end.
 * Deltas are hints that may be lost. The run's row decides that it has ended: it is read when a live event says so, and
 * once a second besides, so that without NATS a reader still gets the whole message and the end. What the live events
 * did not bring by then is sent from the row, and nothing is sent twice.
 */
export class RunStreams {
  readonly #options: RunStreamsOptions;

  constructor(options: RunStreamsOptions) {
    this.#options = options;
  }

  /** Begins to keep a lane's events. @throws AppError `too_many_streams`, `too_many_waiters` */
  feed(lane: LaneRef): LaneFeed {
    const leave = this.#options.openStreams.reserve();
    let place: WaiterPlace;
    try {
      place = this.#options.waiters.reserve();
    } catch (error) {
      leave();
      throw error;
    }
    const kept: LiveEvent[] = [];
    let onEvent = (event: LiveEvent): void => {
      if (kept.length < KEPT_EVENTS_MAX) kept.push(event);
    };
    const unsubscribe = this.#options.live.subscribe(lane, (event) => onEvent(event));
    const follow = (handler: (event: LiveEvent) => void): void => {
      onEvent = handler;
      for (const event of kept.splice(0)) handler(event);
    };
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      leave();
      unsubscribe();
      place.release();
    };
    return { follow, place, close };
  }

  /** Answers with the stream of a run; the feed is closed with it. `begin` writes what comes after `stream.open`. */
  async serve(
    reply: FastifyReply,
    from: { readonly run: RunRecord; readonly caller: Caller; readonly feed: LaneFeed },
    begin?: (connection: SseConnection) => void,
  ): Promise<void> {
    const { run, caller, feed } = from;
    const connection = new SseConnection(reply, { subject: run, clock: this.#options.clock });
    const gone = new AbortController();
    connection.onEnd(() => {
      feed.close();
      gone.abort();
    });
    this.#options.openStreams.add(connection, { kind: 'run', caller });
    connection.send('stream.open', { headSeq: null }, { at: this.#now() });
    begin?.(connection);
    const told = new RunTeller(connection, run);
    feed.follow((event) => told.tell(event));
    try {
      const last = await feed.place.wait(run, WAIT_MS_MAX, gone.signal);
      if (isFinal(last.status)) told.finish(last, this.#now());
    } catch (error) {
      this.#options.logger.failed(error, { runId: run.runId }, 'a stream ended early');
      this.#options.openStreams.end(connection);
    } finally {
      connection.end();
    }
  }

  #now(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }
}

/** What one reader has been told of its run. */
class RunTeller {
  readonly #connection: SseConnection;
  readonly #runId: string;
  #turnId: string | null = null;
  #hasMessage = false;
  #isTurnOpen = false;

  constructor(connection: SseConnection, run: RunRecord) {
    this.#connection = connection;
    this.#runId = formatId('run', run.runId);
  }

  /** Passes on what concerns the run, but for its end: that is told from the row. */
  tell(event: LiveEvent): void {
    if (!this.#concerns(event)) return;
    if (event.type === 'turn.started') {
      this.#turnId = event.turnId ?? null;
      this.#isTurnOpen = true;
    }
    if (event.type === 'turn.finished' || event.type === 'turn.interrupted') this.#isTurnOpen = false;
    if (event.type === 'message.created' && event.data['role'] === 'assistant') this.#hasMessage = true;
    if (event.type !== 'run.settled') this.#connection.forward(event);
  }

  /** Tells what is missing of a final run, and its end. */
  finish(run: RunRecord, now: string): void {
    const { reply, status, errorCode } = run;
    const at = run.finishedAt?.toISOString() ?? now;
    const turnId = run.turnId === null ? null : formatId('trn', run.turnId);
    const about = {
      at,
      sessionId: run.sessionId === null ? null : formatId('ses', run.sessionId),
      runIds: [this.#runId],
      ...(turnId === null ? {} : { turnId }),
    };
    if (reply !== null && !this.#hasMessage) {
      const { text, attachments } = reply;
      const messageId = formatId('msg', reply.messageId);
      const parts = [{ type: 'text', text }, ...(attachments ?? [])];
      const data = { messageId, role: 'assistant', author: 'agent', parts, text };
      this.#connection.send('message.created', data, { ...about, seq: Number(reply.seq) });
    }
    if (this.#isTurnOpen && this.#turnId === turnId) this.#connection.send('turn.finished', { status }, about);
    const data = {
      runId: this.#runId,
      eventId: formatId('evt', run.runId),
      status,
      ...(errorCode === null ? {} : { error: { code: errorCode } }),
    };
    this.#connection.send('run.settled', data, about);
  }

  #concerns({ runIds, turnId }: LiveEvent): boolean {
    if (runIds !== undefined) return runIds.includes(this.#runId);
    return turnId !== undefined && turnId === this.#turnId;
  }
}

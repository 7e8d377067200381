import {
  AppError,
  type Clock,
  formatId,
  type Ids,
  isFinal,
  type LaneRef,
  type LiveEvent,
  type LiveStream,
  type Logger,
  type RunRecord,
} from '@turnkeeper/core';
import type { FastifyReply } from 'fastify';
import type { Access, Caller } from '../http/access.ts';
import { SseConnection } from '../http/sse.ts';
import type { RunWaiters, WaiterPlace } from './run-waiters.ts';

export interface RunStreamsOptions {
  readonly live: Pick<LiveStream, 'subscribe'>;
  readonly waiters: Pick<RunWaiters, 'reserve'>;
  readonly access: Pick<Access, 'isStillValid'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Feeds open at once, and so streams; above it a caller is refused. */
  readonly streamsMax: number;
  /** `streams_open` of this kind. */
  readonly opened: (count: number) => void;
}

/** Live events of a lane, kept from before its run was read so that none falls between the two. */
export interface LaneFeed {
  /** Hands over what was kept, in order, and then each event as it comes. */
  follow(onEvent: (event: LiveEvent) => void): void;
  /** Taken with the feed, so that a stream that has begun is not refused any more. */
  readonly place: WaiterPlace;
  close(): void;
}

interface Open {
  readonly connection: SseConnection;
  readonly caller: Caller;
}

const HEARTBEAT_MS = 15_000;
const RECHECK_MS = 2_000;
const LIFETIME_MS = 55 * 60_000;
const LIFETIME_JITTER = 0.1;
/** Hints to reconnect are spread over this, so that a drained node's readers do not all come at once. */
const RECONNECT_SPREAD_MS = 30_000;
const KEPT_EVENTS_MAX = 1_000;

/**
 * The live stream of one run: `stream.open`, then what the lane's worker says about the run, then `run.settled`, end.
 * Deltas are hints that may be lost. The run's row decides that it has ended: it is read when a live event says so, and
 * once a second besides, so that without NATS a reader still gets the whole message and the end. What the live events
 * did not bring by then is sent from the row, and nothing is sent twice.
 */
export class RunStreams {
  readonly #options: RunStreamsOptions;
  readonly #open = new Set<Open>();
  /** From the beginning of a feed on, so that callers who come together cannot pass the bound. */
  #feeds = 0;
  #isStoreAway = false;
  readonly #stop = new AbortController();

  constructor(options: RunStreamsOptions) {
    this.#options = options;
  }

  /** Begins to keep a lane's events. @throws AppError `too_many_streams`, `too_many_waiters` */
  feed(lane: LaneRef): LaneFeed {
    if (this.#feeds >= this.#options.streamsMax) throw tooMany();
    const place = this.#options.waiters.reserve();
    this.#feeds++;
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
      this.#feeds--;
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
    const connection = new SseConnection(reply, run);
    const open: Open = { connection, caller };
    this.#open.add(open);
    this.#options.opened(this.#open.size);
    const gone = new AbortController();
    connection.onEnd(() => {
      this.#open.delete(open);
      this.#options.opened(this.#open.size);
      feed.close();
      gone.abort();
    });
    connection.send('stream.open', { headSeq: null }, { at: this.#now() });
    begin?.(connection);
    const told = new RunTeller(connection, run);
    feed.follow((event) => told.tell(event));
    try {
      const last = await feed.place.wait(run, this.#lifetimeMs(), gone.signal);
      if (isFinal(last.status)) told.finish(last, this.#now());
      else this.#closeLater(connection);
    } catch (error) {
      this.#options.logger.failed(error, { runId: run.runId }, 'a stream ended early');
      this.#closeLater(connection);
    } finally {
      connection.end();
    }
  }

  /** Keeps streams alive, and ends those whose key was taken away. Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let nextBeatMs = clock.monotonicMs() + HEARTBEAT_MS;
    while (!signal.aborted) {
      await clock.sleep(RECHECK_MS, signal);
      const isBeat = clock.monotonicMs() >= nextBeatMs;
      if (isBeat) nextBeatMs += HEARTBEAT_MS;
      for (const { connection } of this.#open) if (isBeat) connection.comment();
      await this.recheck();
    }
  }

  /**
   * Ends the streams whose key no longer works. Each key is asked for once, however many streams it has. While the store
   * is away what was allowed goes on, and that is logged once.
   */
  async recheck(): Promise<void> {
    const byKey = Map.groupBy(this.#open, ({ caller }) => `${caller.key.keyId}/${caller.tenant.tenantId}`);
    const checks = await Promise.allSettled([...byKey.values()].map((streams) => this.#recheck(streams)));
    const failed = checks.find((check) => check.status === 'rejected');
    if (failed !== undefined && !this.#isStoreAway) {
      this.#options.logger.failed(failed.reason, {}, 'open streams cannot be checked; they go on until they can');
    }
    this.#isStoreAway = failed !== undefined;
  }

  /** Tells every reader to come back elsewhere, and ends. */
  drain(): void {
    this.#stop.abort();
    for (const { connection } of this.#open) connection.close('drain', this.#reconnectMs(), this.#now());
  }

  /** Streams of one key. */
  async #recheck(streams: readonly Open[]): Promise<void> {
    const [first] = streams;
    if (first === undefined || (await this.#options.access.isStillValid(first.caller))) return;
    for (const { connection } of streams) connection.close('revoked', 0, this.#now());
  }

  #closeLater(connection: SseConnection): void {
    const reason = this.#stop.signal.aborted ? 'drain' : 'lifetime';
    connection.close(reason, this.#reconnectMs(), this.#now());
  }

  #now(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }

  #lifetimeMs(): number {
    return LIFETIME_MS * (1 + LIFETIME_JITTER * (2 * this.#options.ids.random() - 1));
  }

  #reconnectMs(): number {
    return Math.floor(this.#options.ids.random() * RECONNECT_SPREAD_MS);
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

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_streams',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too many streams are open on this node; try again later',
  });
}

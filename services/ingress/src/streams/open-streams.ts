import {
  AppError,
  type Clock,
  type Gauge,
  type HttpErrorCode,
  type Ids,
  type Logger,
  type NOBODY,
  Places,
  type TenantId,
} from '@turnkeeper/core';
import type { StreamEventData } from '@turnkeeper/protocol';
import type { Access, Principal } from '../http/access.ts';

/** A reader of any kind that holds a connection. */
export interface OpenStream {
  readonly isOpen: boolean;
  /** Called once, when the reader has gone or the stream was ended. */
  onEnd(handler: () => void): void;
  /** Something that readers ignore and that keeps proxies from closing. */
  comment(): void;
  /** `fault`: what became of its key or token, when it is `revoked`. */
  close(
    reason: StreamEventData['stream.closing']['reason'],
    reconnectAfterMs: number,
    at: string,
    fault?: HttpErrorCode,
  ): void;
}

export type StreamKind = 'run' | 'session' | 'tenant' | 'socket';

export interface OpenStreamsOptions {
  readonly access: Pick<Access, 'faultOf'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Open at once; above it, or above three quarters of it for one tenant, a caller is refused. */
  readonly streamsMax: number;
  /** `streams_open`. */
  readonly opened: Gauge;
}

interface Entry {
  readonly stream: OpenStream;
  readonly caller: Principal;
  readonly endsMs: number;
}

const HEARTBEAT_MS = 15_000;
/** Between two looks at the keys of open streams. */
export const RECHECK_MS = 2_000;
const LIFETIME_MS = 55 * 60_000;
const LIFETIME_JITTER = 0.1;
/** A drained node's readers come back spread over this, so that the others do not get them all at once. */
const RECONNECT_SPREAD_MS = 30_000;
/** They are sent away in steps: so many in each, or more where else it would take longer than that. */
const DRAIN_STEP_MS = 100;
const DRAIN_STEP_STREAMS = 10;

/** What all open streams of this node have in common: their number, signs of life, keys that are taken away, and the end. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #open = new Set<Entry>();
  readonly #counts = new Map<StreamKind, number>();
  readonly #places: Places;
  #isStoreAway = false;
  #isDraining = false;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
    this.#places = new Places(options.streamsMax);
  }

  /**
   * A place of this tenant for a stream that is about to open, so that callers who come together cannot pass the bound.
   * @throws AppError `too_many_streams`
   */
  reserve(holder: TenantId | typeof NOBODY): () => void {
    if (!this.#places.take(holder)) throw tooMany();
    let isHeld = true;
    return () => {
      if (isHeld) this.#places.give(holder);
      isHeld = false;
    };
  }

  add(stream: OpenStream, { kind, caller }: { readonly kind: StreamKind; readonly caller: Principal }): void {
    const lifetimeMs = LIFETIME_MS * (1 + LIFETIME_JITTER * (2 * this.#options.ids.random() - 1));
    const entry = { stream, caller, endsMs: this.#options.clock.monotonicMs() + lifetimeMs };
    this.#open.add(entry);
    this.#count(kind, 1);
    stream.onEnd(() => {
      if (this.#open.delete(entry)) this.#count(kind, -1);
    });
    if (this.#isDraining) this.end(stream, 'drain');
  }

  /** Keeps streams alive, and ends those that are old and those whose key was taken away. Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let nextBeatMs = clock.monotonicMs() + HEARTBEAT_MS;
    while (!signal.aborted) {
      await clock.sleep(RECHECK_MS, signal);
      const nowMs = clock.monotonicMs();
      const isBeat = nowMs >= nextBeatMs;
      if (isBeat) nextBeatMs += HEARTBEAT_MS;
      for (const { stream, endsMs } of this.#open) {
        if (endsMs <= nowMs) this.end(stream, 'lifetime');
        else if (isBeat) stream.comment();
      }
      await this.recheck();
    }
  }

  /**
   * Ends the streams whose key no longer works. Each key is asked for once, however many streams it has. While the store
   * is away what was allowed goes on, and that is logged once.
   */
  async recheck(): Promise<void> {
    const byKey = Map.groupBy(this.#open, ({ caller }) => credentialOf(caller));
    const checks = await Promise.allSettled([...byKey.values()].map((streams) => this.#recheck(streams)));
    const failed = checks.find((check) => check.status === 'rejected');
    if (failed !== undefined && !this.#isStoreAway) {
      this.#options.logger.failed(failed.reason, {}, 'open streams cannot be checked; they go on until they can');
    }
    this.#isStoreAway = failed !== undefined;
  }

  /**
   * Sends the readers away, the oldest first, 100 a second and all within 30 s; until it is its turn a stream goes on. Each is
   * told to come back at some moment before the 30 s are over. Resolves when all have ended; `signal`: now.
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const streams = [...this.#open];
    const perStep = Math.max(DRAIN_STEP_STREAMS, Math.ceil(streams.length / (RECONNECT_SPREAD_MS / DRAIN_STEP_MS)));
    for (const [i, { stream }] of streams.entries()) {
      // by the clock, not by the sum of sleeps, which a busy loop draws out
      if (i > 0 && i % perStep === 0)
        await clock.sleep(Math.max(0, startMs + (i / perStep) * DRAIN_STEP_MS - clock.monotonicMs()), signal);
      this.#endWithin(stream, 'drain', RECONNECT_SPREAD_MS - (clock.monotonicMs() - startMs));
    }
  }

  /** Streams of one key. */
  async #recheck(streams: readonly Entry[]): Promise<void> {
    const [first] = streams;
    const fault = first === undefined ? null : await this.#options.access.faultOf(first.caller);
    if (fault !== null) for (const { stream } of streams) stream.close('revoked', 0, this.#now(), fault);
  }

  /** Ends a stream that has nothing more to say though its reader wants more: it comes back, a little later. */
  end(stream: OpenStream, reason: 'drain' | 'lifetime' = 'lifetime'): void {
    this.#endWithin(stream, reason, RECONNECT_SPREAD_MS);
  }

  #endWithin(stream: OpenStream, reason: 'drain' | 'lifetime', spreadMs: number): void {
    stream.close(reason, Math.floor(this.#options.ids.random() * Math.max(0, spreadMs)), this.#now());
  }

  #count(kind: StreamKind, change: number): void {
    const count = (this.#counts.get(kind) ?? 0) + change;
    this.#counts.set(kind, count);
    this.#options.opened.set(count, { kind });
  }

  #now(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }
}

/** One key, or all tokens of one visitor that end together. */
function credentialOf(caller: Principal): string {
  const { tenantId } = caller.tenant;
  if (caller.kind === 'key') return `${caller.key.keyId}/${tenantId}`;
  return `${caller.agent.agentId}/${caller.account?.accountId}/${caller.sub}/${caller.expiresAtMs}/${tenantId}`;
}

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_streams',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too many streams are open on this node; try again later',
  });
}

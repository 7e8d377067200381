import type { ServerResponse } from 'node:http';
import { type Clock, type Counter, formatId, type LiveEvent, type TenantId } from '@turnkeeper/core';
import type { StreamEvent, StreamEventData } from '@turnkeeper/protocol';
import type { FastifyReply } from 'fastify';

/** Above this a slow reader loses ephemeral events, and durable ones wait. */
const UNSENT_BYTES_MAX = 256 * 1024;
/** They wait so long; then the reader loses its connection. */
const DRAIN_MS = 30_000;
/** A reader that is cut off may still take what was sent before, if it goes on taking. */
const LAST_BYTES_MS = 10_000;

/** What a stream is about: what the envelope adds to every event. */
export interface StreamSubject {
  readonly tenantId: TenantId;
  readonly sessionKey: string;
}

export interface SseOptions {
  readonly subject: StreamSubject;
  readonly clock: Clock;
  /** Ephemeral events that a slow reader lost. */
  readonly dropped?: Counter;
  /** Where its reader stands, told in each comment; for readers whom nothing durable may come for long. */
  readonly cursor?: () => string | null;
}

/**
 * One answer of server-sent events. A reader that is too slow first loses ephemeral events (they may be lost anyway);
 * whoever writes durable ones waits for `drained` between them; a reader that takes nothing for 30 s gets
 * `stream.closing` and is cut off.
 */
export class SseConnection {
  readonly #response: ServerResponse;
  readonly #tenantId: string;
  readonly #subject: StreamSubject;
  readonly #clock: Clock;
  readonly #onEnd = new Set<() => void>();
  readonly #dropped: Counter | undefined;
  readonly #cursor: () => string | null;
  #isOpen = true;

  /** Takes the answer over from the framework; the headers that it has already are kept. */
  constructor(reply: FastifyReply, { subject, clock, dropped, cursor = () => null }: SseOptions) {
    this.#dropped = dropped;
    this.#cursor = cursor;
    this.#clock = clock;
    reply.isTimed = false;
    reply.hijack();
    this.#response = reply.raw;
    this.#subject = subject;
    this.#tenantId = formatId('ten', subject.tenantId);
    const kept = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
    this.#response.writeHead(200, {
      ...Object.fromEntries(kept),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#response.flushHeaders();
    this.#response.on('close', () => this.#ended());
    this.#response.on('error', () => this.#ended());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Called once, when the reader has gone or the stream was ended. */
  onEnd(handler: () => void): void {
    if (this.#isOpen) this.#onEnd.add(handler);
    else handler();
  }

  /** Passes an event of the lane on. A durable one has an id: its seq, unless the reader must know more to go on behind it. */
  forward(event: LiveEvent, id: string | null = event.seq ?? null): void {
    const { seq, sessionId, ...rest } = event;
    const isDurable = seq !== undefined;
    if (!isDurable && this.#response.writableLength > UNSENT_BYTES_MAX) {
      this.#dropped?.inc();
      return;
    }
    this.#write(id, {
      ...this.#envelope(rest.at, sessionId ?? null),
      ...rest,
      ...(isDurable ? { seq: Number(seq) } : {}),
    });
  }

  /** Sends an event of this server's own. */
  send<Type extends keyof StreamEventData>(
    type: Type,
    data: StreamEventData[Type],
    about: { readonly at: string } & Partial<Pick<StreamEvent, 'seq' | 'sessionId' | 'turnId' | 'runIds'>>,
  ): void {
    const { at, sessionId, ...rest } = about;
    const seq = rest.seq === undefined ? null : String(rest.seq);
    this.#write(seq, { ...this.#envelope(at, sessionId ?? null), type, ...rest, data });
  }

  /**
   * A line that keeps proxies from closing, and that readers of events ignore. It may say where they stand: an `id:` of its
   * own would make an event of it, and only durable events have one.
   */
  comment(): void {
    if (!this.#isOpen || this.#response.writableLength > UNSENT_BYTES_MAX) return;
    const cursor = this.#cursor();
    this.#response.write(cursor === null ? ': \n\n' : `: cursor ${cursor}\n\n`);
  }

  /**
   * Resolves when the reader has taken enough that more may be written, or the stream has ended; a reader that takes too
   * long is cut off, and the stream has ended then.
   */
  async drained(): Promise<void> {
    if (!this.#isOpen || this.#response.writableLength <= UNSENT_BYTES_MAX) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const deadline = new AbortController();
    this.#response.once('drain', resolve);
    this.#onEnd.add(resolve);
    void this.#clock.sleep(DRAIN_MS, deadline.signal).then(() => resolve());
    await promise;
    this.#response.removeListener('drain', resolve);
    this.#onEnd.delete(resolve);
    deadline.abort();
    if (this.#response.writableLength > UNSENT_BYTES_MAX) this.#closeSlow();
  }

  /** Tells the reader why, and when to come back, then ends. */
  close(reason: StreamEventData['stream.closing']['reason'], reconnectAfterMs: number, at: string): void {
    if (!this.#isOpen) return;
    this.send('stream.closing', { reason, reconnectAfterMs }, { at });
    this.end();
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#response.end();
    this.#ended();
  }

  /** Its reader has not taken what it was sent: what waits goes out if it still does, and the reason after it. */
  #closeSlow(): void {
    if (!this.#isOpen) return;
    const at = new Date(this.#clock.nowMs()).toISOString();
    const data = { reason: 'slow_consumer', reconnectAfterMs: 0 };
    const event = { ...this.#envelope(at, null), type: 'stream.closing', data };
    this.#response.end(`event: stream.closing\ndata: ${JSON.stringify(event)}\n\n`);
    this.#response.setTimeout(LAST_BYTES_MS, () => this.#response.destroy());
    this.#ended();
  }

  #envelope(at: string, sessionId: string | null) {
    return { v: 1, at, tenantId: this.#tenantId, sessionKey: this.#subject.sessionKey, sessionId };
  }

  #write(id: string | null, event: Written): void {
    if (!this.#isOpen) return;
    const lines = [`event: ${event.type}`, ...(id === null ? [] : [`id: ${id}`]), `data: ${JSON.stringify(event)}`];
    this.#response.write(`${lines.join('\n')}\n\n`);
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const handler of this.#onEnd) handler();
    this.#onEnd.clear();
  }
}

/** An event as it goes out. */
interface Written extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly at: string;
}

import { type Clock, type Counter, type DurableEvent, formatId, type LiveEvent } from '@turnkeeper/core';
import { CLOSE_CODES, type CloseCode, type ServerFrame, type StreamEventData } from '@turnkeeper/protocol';
import type { WebSocket } from 'ws';
import type { Principal } from '../http/access.ts';
import type { OpenStream } from '../streams/open-streams.ts';

export interface SocketLinkOptions {
  readonly id: string;
  readonly clock: Clock;
  /** Ephemeral events that slow readers lost. */
  readonly dropped: Counter;
}

/** What an event is about. */
export interface Subject {
  readonly sessionKey: string;
  /** Of a visitor. */
  readonly room?: string;
}

/** Above this a slow reader loses ephemeral events, and durable ones wait. */
const UNSENT_BYTES_MAX = 256 * 1024;
/** Answers to its own frames do not wait; above this it is cut off. */
const ANSWERS_BYTES_MAX = 1024 * 1024;
const DRAIN_MS = 30_000;
/** The other side may still take what was sent before, and says goodbye; then the connection is cut. */
const GOODBYE_MS = 5_000;

/**
 * One socket as events and answers go out on it. As with server-sent events, a reader that is too slow loses ephemeral
 * events first; durable ones wait for it; who takes nothing for 30 s is closed with `slow_consumer`.
 */
export class SocketLink implements OpenStream {
  /** Of this connection, for other readers of its rooms: it says nothing about who it is. */
  readonly id: string;
  readonly #socket: WebSocket;
  readonly #options: SocketLinkOptions;
  readonly #onEnd = new Set<() => void>();
  readonly #waiters = new Set<() => void>();
  #unsentBytes = 0;
  #isOpen = true;
  #isAlive = true;
  #tenantId: string | null = null;

  constructor(socket: WebSocket, options: SocketLinkOptions) {
    this.id = options.id;
    this.#socket = socket;
    this.#options = options;
    socket.on('close', () => this.#ended());
    socket.on('pong', () => {
      this.#isAlive = true;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** It was said whose socket it is. */
  get isKnown(): boolean {
    return this.#tenantId !== null;
  }

  /** Whose socket it is, for envelopes. */
  belongsTo({ tenant }: Principal): void {
    this.#tenantId = formatId('ten', tenant.tenantId);
  }

  onEnd(handler: () => void): void {
    if (this.#isOpen) this.#onEnd.add(handler);
    else handler();
  }

  /** Called when the connection is closed, which may be a little after the end. */
  onGone(handler: () => void): void {
    this.#socket.once('close', handler);
  }

  /** Without a goodbye. */
  cut(): void {
    this.#socket.terminate();
  }

  comment(): void {
    // sockets have pings of their own
  }

  /** Asks whether the other side is there; one that did not answer the last time is cut off. */
  ping(): void {
    if (!this.#isOpen) return;
    if (!this.#isAlive) this.cut();
    else this.#socket.ping();
    this.#isAlive = false;
  }

  answer(frame: ServerFrame): void {
    this.#write(frame);
    if (this.#unsentBytes > ANSWERS_BYTES_MAX) this.#closeSlow();
  }

  /** `id`: what to resume from, behind this event. */
  durable({ seq, ...event }: DurableEvent, about: Subject & { readonly id: string }): void {
    const { id, ...subject } = about;
    this.#write({ ...this.#envelope(event.at, subject), ...event, seq, id });
  }

  ephemeral({ seq: _, ...event }: LiveEvent, subject: Subject): void {
    if (this.#unsentBytes > UNSENT_BYTES_MAX) this.#options.dropped.inc();
    else this.#write({ ...this.#envelope(event.at, subject), ...event });
  }

  /** An event of this server's own; without a subject it is about the socket. */
  say<Type extends keyof StreamEventData>(type: Type, data: StreamEventData[Type], subject?: Subject): void {
    this.#write({ ...this.#envelope(this.#now(), subject), type, data });
  }

  async drained(): Promise<void> {
    if (!this.#isOpen || this.#unsentBytes <= UNSENT_BYTES_MAX) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const deadline = new AbortController();
    this.#waiters.add(resolve);
    void this.#options.clock.sleep(DRAIN_MS, deadline.signal).then(() => resolve());
    await promise;
    this.#waiters.delete(resolve);
    deadline.abort();
    if (this.#unsentBytes > UNSENT_BYTES_MAX) this.#closeSlow();
  }

  close(...[reason, reconnectAfterMs, , fault]: Parameters<OpenStream['close']>): void {
    if (!this.#isOpen) return;
    this.say('stream.closing', { reason, reconnectAfterMs });
    if (reason === 'drain' || reason === 'lifetime') this.end(CLOSE_CODES[reason], reason);
    else if (reason === 'slow_consumer') this.end(CLOSE_CODES.overload, reason);
    else this.end(fault === 'tenant_suspended' ? CLOSE_CODES.forbidden : CLOSE_CODES.unauthenticated, fault ?? reason);
  }

  /** Closes; what the other side still sends is not read. */
  end(code: CloseCode | 1000, reason: string): void {
    if (!this.#isOpen) return;
    this.#socket.close(code, reason);
    const gone = new AbortController();
    this.#socket.once('close', () => gone.abort());
    void this.#options.clock.sleep(GOODBYE_MS, gone.signal).then(() => this.cut());
    this.#ended();
  }

  #closeSlow(): void {
    this.close('slow_consumer', 0, '');
  }

  #envelope(at: string, { sessionKey, room }: Partial<Subject> = {}) {
    const about = { tenantId: this.#tenantId, sessionKey: sessionKey ?? null, sessionId: null };
    return { v: 1, at, ...about, ...(room === undefined ? {} : { room }) };
  }

  #write(frame: object): void {
    if (!this.#isOpen) return;
    const text = JSON.stringify(frame);
    this.#unsentBytes += text.length;
    this.#socket.send(text, () => {
      this.#unsentBytes -= text.length;
      if (this.#unsentBytes <= UNSENT_BYTES_MAX) for (const resolve of this.#waiters) resolve();
    });
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const resolve of this.#waiters) resolve();
    for (const handler of this.#onEnd) handler();
    this.#onEnd.clear();
  }

  #now(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }
}

import type { Clock, Ids, Logger } from '@turnkeeper/core';
import { type ConnectionOptions, connect, type NatsConnection, type Subscription } from 'nats';

export interface BusLinkOptions {
  /** `nats://` or `tls://`; user and password may stand in it. */
  readonly url: string;
  /** First part of every subject. */
  readonly prefix: string;
  /** Shown in the server's list of connections. */
  readonly name: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const CONNECT_TIMEOUT_MS = 1000;
/** A server that leaves this many pings unanswered, one a second, is taken for gone. */
const PING_EVERY_MS = 1000;
const PINGS_OUT_MAX = 2;
const RECONNECT_BASE_MS = 50;
const RECONNECT_CAP_MS = 1000;
/** Bytes that may be on their way to the server without its word that it has them. */
const UNCONFIRMED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Connects to NATS. Resolves after the first attempt, within about a second, also when it failed: the link goes on
 * trying, because nothing that Turnkeeper promises needs NATS. Never throws.
 */
export async function connectBus(options: BusLinkOptions): Promise<BusLink> {
  const link = new BusLink(options);
  await link.firstAttempt;
  if (!link.connected) options.logger.warn({}, AWAY_LINE);
  return link;
}

const AWAY_LINE = 'nats does not answer; working without it';

interface Topic {
  readonly handlers: Set<(text: string) => void>;
  subscription: Subscription | null;
}

/**
 * One connection to NATS that may come and go:
 *
 *   away ──(connected, all subjects subscribed)──► connected ──(socket closed | pings unanswered)──► away
 *
 * While away nothing is kept for later: what is published is refused, what others publish is missed. The client's own
 * reconnecting is off, so that there is one state machine and one place where subjects are subscribed.
 */
export class BusLink implements AsyncDisposable {
  readonly prefix: string;
  readonly #options: BusLinkOptions;
  readonly #topics = new Map<string, Topic>();
  readonly #handlers = new Set<(connected: boolean) => void>();
  readonly #closing = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  readonly #ended: Promise<void>;
  #connection: NatsConnection | null = null;
  #unconfirmedBytes = 0;
  #confirming = false;

  constructor(options: BusLinkOptions) {
    this.#options = options;
    this.prefix = options.prefix;
    this.#ended = this.#live();
  }

  /** Resolves once the first attempt to connect has succeeded or failed. */
  get firstAttempt(): Promise<void> {
    return this.#first.promise;
  }

  get connected(): boolean {
    return this.#connection !== null;
  }

  /** Calls back on each change of `connected` until the returned function is called. */
  onChange(handler: (connected: boolean) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Sends, or answers false: away, too much on its way already, or too long for the server. Never throws, never waits. */
  publish(subject: string, text: string): boolean {
    const connection = this.#connection;
    if (connection === null || this.#unconfirmedBytes > UNCONFIRMED_BYTES_MAX) return false;
    try {
      connection.publish(subject, text);
    } catch (error) {
      this.#note(error);
      return false;
    }
    this.#unconfirmedBytes += text.length;
    if (!this.#confirming) void this.#confirm(connection);
    return true;
  }

  /** Calls back with each message of the subject (wildcards allowed) until the returned function is called. */
  subscribe(subject: string, onText: (text: string) => void): () => void {
    let topic = this.#topics.get(subject);
    if (topic === undefined) {
      topic = { handlers: new Set(), subscription: null };
      this.#topics.set(subject, topic);
      if (this.#connection !== null) this.#join(this.#connection, subject, topic);
    }
    topic.handlers.add(onText);
    return () => this.#leave(subject, onText);
  }

  /** Resolves when what was published has reached the server or a second has passed, and the connection is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    const connection = this.#connection;
    this.#closing.abort();
    this.#handlers.clear();
    if (connection !== null) await this.#flushAndClose(connection);
    await this.#ended;
  }

  async #live(): Promise<void> {
    const { clock, ids } = this.#options;
    for (let failures = 0; !this.#closing.signal.aborted; ) {
      const connection = await this.#tryConnect();
      if (connection !== null) {
        failures = 0;
        await this.#serve(connection);
      } else {
        this.#first.resolve();
        const pauseMs = Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** failures++);
        await clock.sleep(pauseMs * (0.5 + ids.random() / 2), this.#closing.signal);
      }
    }
  }

  async #tryConnect(): Promise<NatsConnection | null> {
    try {
      return await connect(connectOptions(this.#options));
    } catch (error) {
      this.#note(error);
      return null;
    }
  }

  /** Resolves when the connection is over. */
  async #serve(connection: NatsConnection): Promise<void> {
    if (this.#closing.signal.aborted) return connection.close();
    this.#unconfirmedBytes = 0;
    this.#confirming = false;
    for (const [subject, topic] of this.#topics) this.#join(connection, subject, topic);
    this.#change(connection);
    this.#first.resolve();
    this.#note(await connection.closed());
    for (const topic of this.#topics.values()) topic.subscription = null;
    this.#change(null);
  }

  #join(connection: NatsConnection, subject: string, topic: Topic): void {
    topic.subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return this.#note(error);
        const text = message.string();
        for (const handler of topic.handlers) this.#call(handler, text);
      },
    });
  }

  #leave(subject: string, onText: (text: string) => void): void {
    const topic = this.#topics.get(subject);
    if (topic === undefined || !topic.handlers.delete(onText) || topic.handlers.size > 0) return;
    this.#topics.delete(subject);
    if (this.#connection !== null) topic.subscription?.unsubscribe();
  }

  /** A handler's fault must not end the connection that all others share. */
  #call(handler: (text: string) => void, text: string): void {
    try {
      handler(text);
    } catch (error) {
      this.#options.logger.failed(error, {}, 'a reader of bus messages failed');
    }
  }

  /** Asks the server to confirm what it has, as long as there is anything unconfirmed. */
  async #confirm(connection: NatsConnection): Promise<void> {
    this.#confirming = true;
    try {
      while (this.#unconfirmedBytes > 0 && this.#connection === connection) {
        const askedBytes = this.#unconfirmedBytes;
        await connection.flush();
        if (this.#connection !== connection) return;
        this.#unconfirmedBytes -= askedBytes;
      }
      this.#confirming = false;
    } catch (error) {
      // the connection ended: the next one starts with nothing unconfirmed
      this.#note(error);
    }
  }

  async #flushAndClose(connection: NatsConnection): Promise<void> {
    const limit = new AbortController();
    const flushed = connection.flush().catch((error) => this.#note(error));
    await Promise.race([flushed, this.#options.clock.sleep(CONNECT_TIMEOUT_MS, limit.signal)]);
    limit.abort();
    await connection.close();
  }

  #change(connection: NatsConnection | null): void {
    this.#connection = connection;
    if (this.#closing.signal.aborted) return;
    if (connection === null) this.#options.logger.warn({}, AWAY_LINE);
    else this.#options.logger.info({}, 'nats answers');
    for (const handler of this.#handlers) handler(connection !== null);
  }

  /** For failures that change nothing: the one line about the link being away says enough. */
  #note(error: unknown): void {
    if (!(error instanceof Error)) return;
    const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
    this.#options.logger.debug({ code }, 'nats connection failed');
  }
}

function connectOptions({ url, name }: BusLinkOptions): ConnectionOptions {
  const parsed = new URL(url);
  return {
    servers: parsed.host,
    name,
    timeout: CONNECT_TIMEOUT_MS,
    reconnect: false,
    pingInterval: PING_EVERY_MS,
    maxPingOut: PINGS_OUT_MAX,
    noAsyncTraces: true,
    ...(parsed.protocol === 'tls:' ? { tls: {} } : {}),
    ...(parsed.username === '' ? {} : { user: decodeURIComponent(parsed.username) }),
    ...(parsed.password === '' ? {} : { pass: decodeURIComponent(parsed.password) }),
  };
}

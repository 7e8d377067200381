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
/** The server is asked this often; without an answer in time it is taken for gone. */
const PING_EVERY_MS = 1000;
const PING_TIMEOUT_MS = 2000;
const CLOSE_LIMIT_MS = 1000;
const RECONNECT_BASE_MS = 50;
const RECONNECT_CAP_MS = 1000;
/** Text (in UTF-16 units) that may be on its way to the server without its word that it has it. */
const UNCONFIRMED_LENGTH_MAX = 4 * 1024 * 1024;

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

/** `subject`: the one that it was sent to, where wildcards are subscribed. */
type Handler = (text: string, subject: string) => void;

interface Topic {
  readonly handlers: Set<Handler>;
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
  #unconfirmedLength = 0;
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

  /** True when the connection that counts as the present one is closed for good. Lasting, it says that no other will come. */
  get isOver(): boolean {
    return !this.#closing.signal.aborted && this.#connection?.isClosed() === true;
  }

  /** Aborted when the link is closed, for what else goes on as long as it. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Calls back on each change of `connected` until the returned function is called. */
  onChange(handler: (connected: boolean) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Sends, or answers false: away, too much on its way already, or too long for the server. Never throws, never waits. */
  publish(subject: string, text: string): boolean {
    const connection = this.#connection;
    if (connection === null || this.#unconfirmedLength > UNCONFIRMED_LENGTH_MAX) return false;
    try {
      connection.publish(subject, text);
    } catch (error) {
      this.#note(error);
      return false;
    }
    this.#unconfirmedLength += text.length;
    if (!this.#confirming) void this.#confirm(connection);
    return true;
  }

  /** Calls back with each message of the subject (wildcards allowed) until the returned function is called. */
  subscribe(subject: string, onText: Handler): () => void {
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
    if (connection !== null) {
      await this.#flushed(connection, CLOSE_LIMIT_MS);
      await connection.close();
    }
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
    this.#unconfirmedLength = 0;
    this.#confirming = false;
    for (const [subject, topic] of this.#topics) this.#join(connection, subject, topic);
    this.#change(connection);
    this.#first.resolve();
    const over = new AbortController();
    void this.#watch(connection, over.signal);
    this.#note(await connection.closed());
    over.abort();
    for (const topic of this.#topics.values()) topic.subscription = null;
    this.#change(null);
  }

  /**
   * Closes a connection whose server no longer answers. The client's own pings would not: on a full socket it waits
   * for the last bytes to go out before it lets go.
   */
  async #watch(connection: NatsConnection, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.#options.clock.sleep(PING_EVERY_MS, over);
      if (!over.aborted && !(await this.#flushed(connection, PING_TIMEOUT_MS))) await connection.close();
    }
  }

  /** True when the server has confirmed within the limit that it has everything sent so far. */
  async #flushed(connection: NatsConnection, limitMs: number): Promise<boolean> {
    const limit = new AbortController();
    const late = this.#options.clock.sleep(limitMs, limit.signal).then(() => false);
    const flushed = connection.flush().then(
      () => true,
      (error) => {
        this.#note(error);
        return false;
      },
    );
    const answered = await Promise.race([flushed, late]);
    limit.abort();
    return answered;
  }

  #join(connection: NatsConnection, subject: string, topic: Topic): void {
    topic.subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return this.#note(error);
        const text = message.string();
        for (const handler of topic.handlers) this.#call(handler, text, message.subject);
      },
    });
  }

  #leave(subject: string, onText: Handler): void {
    const topic = this.#topics.get(subject);
    if (topic === undefined || !topic.handlers.delete(onText) || topic.handlers.size > 0) return;
    this.#topics.delete(subject);
    if (this.#connection !== null) topic.subscription?.unsubscribe();
  }

  /** A handler's fault must not end the connection that all others share. */
  #call(handler: Handler, text: string, subject: string): void {
    try {
      handler(text, subject);
    } catch (error) {
      this.#options.logger.failed(error, {}, 'a reader of bus messages failed');
    }
  }

  /** Asks the server to confirm what it has, as long as there is anything unconfirmed. */
  async #confirm(connection: NatsConnection): Promise<void> {
    this.#confirming = true;
    try {
      while (this.#unconfirmedLength > 0 && this.#connection === connection) {
        const askedLength = this.#unconfirmedLength;
        await connection.flush();
        if (this.#connection !== connection) return;
        this.#unconfirmedLength -= askedLength;
      }
      this.#confirming = false;
    } catch (error) {
      // the connection ended: the next one starts with nothing unconfirmed
      this.#note(error);
    }
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
    noAsyncTraces: true,
    ...(parsed.protocol === 'tls:' ? { tls: {} } : {}),
    ...(parsed.username === '' ? {} : { user: decodeURIComponent(parsed.username) }),
    ...(parsed.password === '' ? {} : { pass: decodeURIComponent(parsed.password) }),
  };
}

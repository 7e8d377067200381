import { AppError, type Clock, type Ids, type Logger } from '@turnkeeper/core';
import { Redis, type RedisOptions, ReplyError } from 'ioredis';

export interface RedisLinkOptions {
  /** `redis://` or `rediss://`, with the database number as its path. */
  readonly url: string;
  /** First part of every key; partition n has the hash tag `{<keyPrefix>:<n>}`. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** A command is given up after this; so is the hope that the socket still works, a little later. */
const COMMAND_TIMEOUT_MS = 1000;
const SOCKET_TIMEOUT_MS = 1500;
const CONNECT_TIMEOUT_MS = 2000;
const PROBE_EVERY_MS = 250;
const POLICY_EVERY_MS = 5000;
const REFUSAL_LOGS_EVERY_MS = 60_000;
const AWAY_LINE = 'redis does not answer; working without it';

/**
 * Connects to Redis. Resolves within about two seconds also when Redis does not answer: the link is then `away` and
 * goes on trying, because nothing that Turnkeeper promises needs Redis.
 * @throws AppError `config_invalid` when Redis answers and may evict keys
 */
export async function openRedis(options: RedisLinkOptions): Promise<RedisLink> {
  const link = new RedisLink(options);
  await link.firstAttempt;
  if (link.mayEvict !== null) {
    await link[Symbol.asyncDispose]();
    throw new AppError({ code: 'config_invalid', message: evictionSentence(link.mayEvict) });
  }
  if (link.away) options.logger.warn({}, AWAY_LINE);
  return link;
}

/**
 * One connection for all commands of a process, and the knowledge whether Redis answers.
 *
 *   away ──(connected, policy is noeviction)──► here ──(socket closed | a command timed out)──► away
 *
 * While away no command is sent, queued or waited for: callers get `away` at once and do without Redis. A command that
 * was on its way when Redis went away answers `away` within a second. Logs one line per change.
 */
export class RedisLink implements AsyncDisposable {
  readonly keyPrefix: string;
  /** For parts of this package. Commands fail fast: no offline queue, no resend, 1 s each. */
  readonly client: Redis;
  readonly #options: RedisLinkOptions;
  readonly #handlers = new Set<(away: boolean) => void>();
  readonly #closing = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #away = true;
  #isCluster = true;
  #mayEvict: string | null = null;
  #probing = false;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.keyPrefix = options.keyPrefix;
    this.client = new Redis(options.url, {
      ...connectionOptions(options),
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    });
    this.client.on('ready', () => this.#probe());
    this.client.on('close', () => {
      this.#change(true);
      this.#first.resolve();
    });
    this.client.on('error', (error) => this.note(error));
  }

  /** Resolves once the first attempt to connect has succeeded or failed. */
  get firstAttempt(): Promise<void> {
    return this.#first.promise;
  }

  /** True while Redis does not answer. */
  get away(): boolean {
    return this.#away;
  }

  /** The eviction policy, when it is one under which Redis may drop keys. */
  get mayEvict(): string | null {
    return this.#mayEvict;
  }

  /** True when the keys of one script must share a hash tag; else one script may do for all partitions. */
  get isCluster(): boolean {
    return this.#isCluster;
  }

  /** True when the client has given up for good, so that no Redis that comes back would be found. */
  get isOver(): boolean {
    return this.client.status === 'end' && !this.#closing.signal.aborted;
  }

  /** Calls back on each change of `away` until the returned function is called. */
  onChange(handler: (away: boolean) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Does something with Redis, or answers `away`: it does not answer, or refused (out of memory, read-only). Never throws for Redis. */
  async run<T>(work: (client: Redis) => Promise<T>): Promise<T | 'away'> {
    if (this.#away) return 'away';
    try {
      return await work(this.client);
    } catch (error) {
      if (error instanceof ReplyError) this.#refused(error);
      else this.#suspect();
      return 'away';
    }
  }

  /** For failures that change nothing: the one line about the link being away says enough. */
  note(error: unknown): void {
    this.#options.logger.debug({ code: codeOf(error) }, 'redis connection failed');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#away = true;
    this.#handlers.clear();
    this.client.disconnect();
  }

  /** A command got no answer in time: the socket may be dead, or Redis slow. Asking makes one of the two plain. */
  #suspect(): void {
    this.#change(true);
    this.#probe();
  }

  /** Asks until Redis answers rightly or the socket closes; a new socket starts it again. */
  #probe(): void {
    if (this.#probing) return;
    this.#probing = true;
    void this.#ask().finally(() => {
      this.#probing = false;
      // the socket may have closed and come back between the last look and here
      if (this.#wanted()) this.#probe();
    });
  }

  async #ask(): Promise<void> {
    while (this.#wanted()) {
      const facts = await askFacts(this.client);
      if (this.client.status !== 'ready') return;
      if (facts !== null) this.#learnt(facts);
      this.#first.resolve();
      if (this.#away)
        await this.#options.clock.sleep(facts === null ? PROBE_EVERY_MS : POLICY_EVERY_MS, this.#closing.signal);
    }
  }

  #wanted(): boolean {
    return this.#away && this.client.status === 'ready' && !this.#closing.signal.aborted;
  }

  #learnt({ policy, isCluster }: Facts): void {
    this.#isCluster = isCluster;
    const mayEvict = policy === 'noeviction' ? null : policy;
    if (mayEvict !== null && mayEvict !== this.#mayEvict) this.#options.logger.error({}, evictionSentence(mayEvict));
    this.#mayEvict = mayEvict;
    if (mayEvict === null) this.#change(false);
  }

  /** Redis answers, but not with what was asked for. */
  #refused(error: unknown): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#refusalLoggedMs < REFUSAL_LOGS_EVERY_MS) return;
    this.#refusalLoggedMs = nowMs;
    this.#options.logger.failed(error, {}, 'redis refuses commands; working without it');
  }

  #change(away: boolean): void {
    if (away === this.#away || this.#closing.signal.aborted) return;
    this.#away = away;
    if (away) this.#options.logger.warn({}, AWAY_LINE);
    else this.#options.logger.info({}, 'redis answers');
    for (const handler of this.#handlers) handler(away);
  }
}

/** What connections for commands and for consumers have in common. */
export function connectionOptions({ ids }: Pick<RedisLinkOptions, 'ids'>) {
  return {
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt: number) => Math.min(1000, 50 * 2 ** attempt) * (0.5 + ids.random() / 2),
    // after a failover the old primary answers READONLY: find the new one
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    disableClientInfo: true,
  } satisfies RedisOptions;
}

interface Facts {
  readonly policy: string;
  readonly isCluster: boolean;
}

/** Null when there was no answer. `INFO` works where `CONFIG` is forbidden. */
async function askFacts(client: Redis): Promise<Facts | null> {
  try {
    const info = await client.info();
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
    return { policy, isCluster: /^cluster_enabled:1/m.test(info) };
  } catch {
    // the connection says so by itself, or the next probe asks again
    return null;
  }
}

function evictionSentence(policy: string): string {
  return `Redis has maxmemory-policy ${policy} and may drop keys: set it to noeviction (CONFIG SET maxmemory-policy noeviction)`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}

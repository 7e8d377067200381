import type { Clock, Ids, Logger } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { type Database, openDatabase, type Role, untilReady } from '@turnkeeper/storage';

const SMALL_POOL = 2;
/** Names that are not known here take two; the others are for what is. */
const LOOKUP_POOL = 4;

/** One pool per role: what a connection may see is fixed when it is opened. */
export class Databases implements AsyncDisposable {
  /** Batches over many tenants. */
  readonly engine: Database;
  /** Rows for streams, of many tenants at once: a burst of replays must not hold up what is accepted. */
  readonly streams: Database;
  /** Pieces of files: senders and readers of large ones wait for each other here and for nobody else. */
  readonly files: Database;
  /** Reads of one tenant. */
  readonly api: Database;
  /** Keys, accounts and agents by their ids. */
  readonly lookup: Database;
  /** Operators. */
  readonly admin: Database;
  readonly #all: readonly [Database, ...Database[]];
  /** Of those that are not the only one of their role. */
  readonly #names: ReadonlyMap<Database, string>;

  constructor(options: {
    readonly url: string;
    readonly enginePoolMax: number;
    readonly readPoolMax: number;
    readonly logger: Logger;
    readonly metrics: Metrics;
  }) {
    const statements = options.metrics.histogram('db_statement_duration_seconds');
    const open = (role: Role, poolMax: number) =>
      openDatabase({
        url: options.url,
        role,
        poolMax,
        applicationName: 'turnkeeper-ingress',
        onStatement: (statement, seconds) => statements.observe(seconds, { statement }),
        onLost: () => options.logger.warn({ role }, 'a database connection broke'),
      });
    this.engine = open('tk_engine', options.enginePoolMax);
    this.streams = open('tk_engine', SMALL_POOL);
    this.files = open('tk_engine', LOOKUP_POOL);
    this.api = open('tk_api', options.readPoolMax);
    this.lookup = open('tk_lookup', LOOKUP_POOL);
    this.admin = open('tk_admin', SMALL_POOL);
    this.#all = [this.engine, this.streams, this.files, this.api, this.lookup, this.admin];
    this.#names = new Map([
      [this.streams, 'streams'],
      [this.files, 'files'],
    ]);
    const connections = options.metrics.gauge('db_pool_connections');
    options.metrics.onScrape(() => {
      for (const database of this.#all) {
        const stats = database.stats();
        const pool = this.#names.get(database) ?? database.role;
        connections.set(stats.idle, { pool, state: 'idle' });
        connections.set(stats.total - stats.idle, { pool, state: 'busy' });
        connections.set(stats.waiting, { pool, state: 'waited_for' });
      }
    });
  }

  /** Waits for the database and checks that it fits. @throws AppError */
  ready(parts: { readonly clock: Clock; readonly ids: Ids; readonly logger: Logger }, signal: AbortSignal) {
    return untilReady(this.#all, parts, signal);
  }

  /** True when one of the pools gives no connection any more though nobody closed it. */
  get isOver(): boolean {
    return this.#all.some((database) => database.isOver);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((database) => database.close()));
  }
}

import { AppError, type Clock, type Ids, type Logger, StoreError } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { checkRoles, checkSchema, type Database, openDatabase, type Role } from '@turnkeeper/storage';

const SMALL_POOL = 2;
/** Names that are not known here take two; the others are for what is. */
const LOOKUP_POOL = 4;
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/** One pool per role: what a connection may see is fixed when it is opened. */
export class Databases implements AsyncDisposable {
  /** Batches over many tenants. */
  readonly engine: Database;
  /** Reads of one tenant. */
  readonly api: Database;
  /** Keys, accounts and agents by their ids. */
  readonly lookup: Database;
  /** Operators. */
  readonly admin: Database;
  readonly #all: readonly Database[];

  constructor(options: {
    readonly url: string;
    readonly enginePoolMax: number;
    readonly readPoolMax: number;
    readonly logger: Logger;
    readonly metrics: Metrics;
  }) {
    const open = (role: Role, poolMax: number) =>
      openDatabase({
        url: options.url,
        role,
        poolMax,
        applicationName: 'turnkeeper-ingress',
        onLost: () => options.logger.warn({ role }, 'a database connection broke'),
      });
    this.engine = open('tk_engine', options.enginePoolMax);
    this.api = open('tk_api', options.readPoolMax);
    this.lookup = open('tk_lookup', LOOKUP_POOL);
    this.admin = open('tk_admin', SMALL_POOL);
    this.#all = [this.engine, this.api, this.lookup, this.admin];
    const connections = options.metrics.gauge('db_pool_connections');
    options.metrics.onScrape(() => {
      for (const { role, stats } of this.#all.map((database) => ({ role: database.role, stats: database.stats() }))) {
        connections.set(stats.idle, { pool: role, state: 'idle' });
        connections.set(stats.total - stats.idle, { pool: role, state: 'busy' });
        connections.set(stats.waiting, { pool: role, state: 'waited_for' });
      }
    });
  }

  /**
   * Waits until the database answers, then makes sure that it fits this program and binds it.
   * @throws AppError `schema_mismatch`, or `internal` for a login that sees every tenant
   */
  async ready({ clock, ids, logger }: { clock: Clock; ids: Ids; logger: Logger }, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        await checkSchema(this.engine);
        for (const database of this.#all) await checkRoles(database);
        return;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (signal.aborted)
          throw new AppError({ code: 'store_unavailable', message: 'the database does not answer', cause: error });
        if (failures === 0) logger.failed(error, {}, 'the database does not answer; waiting for it');
      }
      const pauseMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** failures);
      await clock.sleep(pauseMs * (0.5 + ids.random() / 2), signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((database) => database.close()));
  }
}

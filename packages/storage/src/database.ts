import pg from 'pg';
import { keepsConnection, toStoreError } from './store-error.ts';

/** The roles of migration 0002. */
export type Role = 'tk_lookup' | 'tk_api' | 'tk_engine' | 'tk_admin' | 'tk_sweep';

export interface DatabaseOptions {
  readonly url: string;
  readonly role: Role;
  readonly poolMax: number;
  /** Shown by `pg_stat_activity`, for people. */
  readonly applicationName: string;
  /** Settings of the server for every connection, over the role's own. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Told of every connection that broke, also of idle ones. */
  readonly onLost?: (error: Error) => void;
  /** Told the time of each statement, with the wait for the network; those of the query builder are all named `built`. */
  readonly onStatement?: (name: string, seconds: number) => void;
}

/** A statement with a name is prepared once per connection; its text never changes. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface PoolStats {
  readonly max: number;
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Runs statements on one connection, inside one transaction. */
export interface Transaction {
  query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** Names of what the query builder made begin so; there is one for each set of filters. */
export const BUILT = 'q_';

const ACQUIRE_MS = 2_000;
const STATEMENT_MS = 5_000;
/** The client gives up this long after the server should have. */
const ANSWER_SLACK_MS = 2_000;

/** The server's own deadlines, for every role (protocol H17). */
const COMMON = {
  statement_timeout: STATEMENT_MS,
  lock_timeout: 250,
  idle_in_transaction_session_timeout: 2_000,
  tcp_user_timeout: 10_000,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 3,
  tcp_keepalives_count: 3,
  jit: 'off',
};

/**
 * What the batches need beyond that: planning them again for each call costs more than running them, and a sequential
 * scan is never right for them, however small the tables look.
 */
const OF_ROLE: Partial<Record<Role, Readonly<Record<string, string | number>>>> = {
  tk_engine: { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' },
  tk_sweep: { statement_timeout: 20_000 },
};

/**
 * A pool of connections that all run under one role, so that their cached plans hold (policies depend on the role).
 * Every wait has an end: for a connection 2 s, for a lock, a statement and an idle transaction the server's settings,
 * for an answer the statement's time-out and 2 s more. No connection is held between two calls.
 */
export class Database {
  readonly role: Role;
  /** For query builders; their errors go through `toStoreError`. */
  readonly pool: pg.Pool;
  readonly #max: number;
  readonly #onStatement: (name: string, seconds: number) => void;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    this.role = options.role;
    this.#max = options.poolMax;
    this.#onStatement = options.onStatement ?? (() => undefined);
    const settings = { ...COMMON, ...OF_ROLE[options.role], ...options.settings };
    this.pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolMax,
      application_name: options.applicationName,
      connectionTimeoutMillis: ACQUIRE_MS,
      // an idle connection keeps what it has prepared and planned
      idleTimeoutMillis: 0,
      query_timeout: Number(settings.statement_timeout) + ANSWER_SLACK_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      options: optionsOf({ role: options.role, ...settings }),
    });
    const onLost = options.onLost ?? (() => undefined);
    this.pool.on('error', onLost);
    // a connection that breaks while it is out of the pool emits too, and nobody else listens
    this.pool.on('connect', (client) => client.on('error', onLost));
  }

  /** Runs one statement: one round trip, one transaction. @throws StoreError */
  query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#withClient((client) => this.#run<Row>(client, statement, values));
  }

  /** Runs `work` in one transaction; never on a hot path, because the client's time is inside it. @throws StoreError */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      await client.query('begin');
      try {
        const result = await work({ query: (statement, values) => this.#run(client, statement, values) });
        await client.query('commit');
        return result;
      } catch (error) {
        if (keepsConnection(error)) await client.query('rollback');
        throw error;
      }
    });
  }

  /**
   * Opens every connection of the pool and runs these statements on each, so that the first real call finds them
   * prepared and planned. The values must make each of them do nothing.
   */
  async warmUp(
    statements: readonly { readonly statement: Statement; readonly values: readonly unknown[] }[],
  ): Promise<void> {
    const all = Array.from({ length: this.#max }, () =>
      this.#withClient(async (client) => {
        for (const { statement, values } of statements) await this.#run(client, statement, values);
      }),
    );
    await Promise.all(all);
  }

  stats(): PoolStats {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { max: this.#max, total: totalCount, idle: idleCount, waiting: waitingCount };
  }

  /** True when it gives no connection any more though nobody closed it. */
  get isOver(): boolean {
    return this.pool.ended && !this.#isClosed;
  }

  /** Ends after the calls in flight. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.pool.end();
  }

  async #run<Row>(client: pg.ClientBase, { name, text }: Statement, values: readonly unknown[]): Promise<Row[]> {
    const startedMs = performance.now();
    try {
      const { rows } = await client.query({ name, text, values: [...values] });
      return rows;
    } finally {
      this.#onStatement(name.startsWith(BUILT) ? 'built' : name, (performance.now() - startedMs) / 1000);
    }
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    try {
      const client = await this.pool.connect();
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        client.release(!keepsConnection(error));
        throw error;
      }
    } catch (error) {
      throw toStoreError(error);
    }
  }
}

/** Opens no connection yet: the first call does, or `warmUp`. */
export function openDatabase(options: DatabaseOptions): Database {
  return new Database(options);
}

function optionsOf(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(/[\\ ]/g, '\\$&')}`)
    .join(' ');
}

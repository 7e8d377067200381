import type { Clock, Ids, Logger } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { type Database, openDatabase, untilReady } from '@turnkeeper/storage';

const LEASE_STATEMENT_MS = 2_000;

/** A pool per role and purpose, so that a long queue for batches never holds up a heartbeat. */
export class Databases implements AsyncDisposable {
  readonly engine: Database;
  /** Pieces of files for models: large ones wait for each other here and for nobody else. */
  readonly files: Database;
  /** Heartbeat and partitions. */
  readonly lease: Database;
  /** Configuration. */
  readonly lookup: Database;

  constructor(options: {
    readonly url: string;
    readonly enginePoolMax: number;
    readonly logger: Logger;
    readonly metrics: Pick<Metrics, 'gauge' | 'histogram' | 'onScrape'>;
  }) {
    const statements = options.metrics.histogram('db_statement_duration_seconds');
    const common = {
      url: options.url,
      applicationName: 'turnkeeper-session-worker',
      onStatement: (statement: string, seconds: number) => statements.observe(seconds, { statement }),
      onLost: () => options.logger.debug({}, 'a database connection broke'),
    };
    const lease = { statement_timeout: LEASE_STATEMENT_MS };
    this.engine = openDatabase({ ...common, role: 'tk_engine', poolMax: options.enginePoolMax });
    this.files = openDatabase({ ...common, role: 'tk_engine', poolMax: 2 });
    this.lease = openDatabase({ ...common, role: 'tk_engine', poolMax: 2, settings: lease });
    this.lookup = openDatabase({ ...common, role: 'tk_lookup', poolMax: 4 });
    const connections = options.metrics.gauge('db_pool_connections');
    options.metrics.onScrape(() => {
      for (const pool of ['engine', 'files', 'lease', 'lookup'] as const) {
        const { idle, total, waiting } = this[pool].stats();
        connections.set(idle, { pool, state: 'idle' });
        connections.set(total - idle, { pool, state: 'busy' });
        connections.set(waiting, { pool, state: 'waited_for' });
      }
    });
  }

  /** Waits for the database and checks that it fits. @throws AppError */
  ready(parts: { readonly clock: Clock; readonly ids: Ids; readonly logger: Logger }, signal: AbortSignal) {
    return untilReady([this.engine, this.files, this.lease, this.lookup], parts, signal);
  }

  /** True when one of the pools gives no connection any more though nobody closed it. */
  get isOver(): boolean {
    return [this.engine, this.files, this.lease, this.lookup].some((database) => database.isOver);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.engine.close(), this.files.close(), this.lease.close(), this.lookup.close()]);
  }
}

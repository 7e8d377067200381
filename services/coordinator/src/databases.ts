import type { Logger } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { type Database, openDatabase } from '@turnkeeper/storage';

const LEASE_STATEMENT_MS = 2_000;

/** Pools of one role, so that a sweep that takes long never holds up a heartbeat, nor a look at the invariants a take-over. */
export class Databases implements AsyncDisposable {
  /** Heartbeat, clock and leader's lease. */
  readonly lease: Database;
  readonly sweeps: Database;
  /** One connection for open work, one for history. */
  readonly invariants: Database;

  constructor(options: {
    readonly url: string;
    readonly logger: Logger;
    readonly metrics: Pick<Metrics, 'gauge' | 'histogram' | 'onScrape'>;
  }) {
    const statements = options.metrics.histogram('db_statement_duration_seconds');
    const common = {
      url: options.url,
      role: 'tk_sweep' as const,
      applicationName: 'turnkeeper-coordinator',
      onStatement: (statement: string, seconds: number) => statements.observe(seconds, { statement }),
      onLost: () => options.logger.debug({}, 'a database connection broke'),
    };
    this.lease = openDatabase({ ...common, poolMax: 2, settings: { statement_timeout: LEASE_STATEMENT_MS } });
    this.sweeps = openDatabase({ ...common, poolMax: 4 });
    // planned for the time that is asked of: a plan for any time would read whole tables
    this.invariants = openDatabase({ ...common, poolMax: 2, settings: { plan_cache_mode: 'force_custom_plan' } });
    const connections = options.metrics.gauge('db_pool_connections');
    options.metrics.onScrape(() => {
      for (const pool of ['lease', 'sweeps', 'invariants'] as const) {
        const { idle, total, waiting } = this[pool].stats();
        connections.set(idle, { pool, state: 'idle' });
        connections.set(total - idle, { pool, state: 'busy' });
        connections.set(waiting, { pool, state: 'waited_for' });
      }
    });
  }

  /** True when one of the pools gives no connection any more though nobody closed it. */
  get isOver(): boolean {
    return this.lease.isOver || this.sweeps.isOver || this.invariants.isOver;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.lease.close(), this.sweeps.close(), this.invariants.close()]);
  }
}

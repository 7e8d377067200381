import type { ControlSignals, Counter, DatabaseHealth, Logger, RepairStore, Tracer } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface DeadProcessesOptions {
  readonly repair: Pick<RepairStore, 'declareDead'>;
  readonly health: DatabaseHealth;
  readonly signals: Pick<ControlSignals, 'sayGoodbye'>;
  readonly leaseMs: number;
  /** `takeovers_total` */
  readonly takeovers: Counter;
  readonly logger: Logger;
  readonly tracer: Tracer;
}

/**
 * Declares processes dead whose lease is over, once the database was healthy for a whole lease. Death is final; that the
 * others take over its partitions at once is only hastened by the goodbye said in its name.
 */
export function deadProcesses(options: DeadProcessesOptions): Sweep {
  const { health, leaseMs, logger, repair, signals, takeovers, tracer } = options;
  return {
    name: 'dead-processes',
    deadlineMs: 2000,
    run: async () => {
      if (!health.isProven) return {};
      const dead = await repair.declareDead(leaseMs, health.expectedDatabaseMs);
      for (const bootId of dead) {
        logger.warn({ lostBootId: bootId }, 'declared dead: its lease was over');
        tracer.start('takeover', { attributes: { lostBootId: bootId } }).end();
        takeovers.inc({ cause: 'lease_over', false: 'false' });
        signals.sayGoodbye(bootId);
      }
      return { process: dead.length };
    },
  };
}

import type { Clock, Logger, RepairStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface RetentionOptions {
  readonly repair: Pick<RepairStore, 'deleteExpired'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settledDays: number;
  readonly dedupeDays: number;
}

/** Rows of each table per statement: small, so that deleting never holds up what is on its way. */
const BATCH_ROWS = 500;
const PAUSE_MS = 50;

/** Deletes rows past retention, as many as a run's time allows. A steady cluster always has some: they count as no repair. */
export function retention(options: RetentionOptions): Sweep {
  const { clock, dedupeDays, logger, repair, settledDays } = options;
  return {
    name: 'retention',
    deadlineMs: 45_000,
    run: async (signal) => {
      let total = 0;
      let deleted = 1;
      while (deleted > 0 && !signal.aborted) {
        const rows = await repair.deleteExpired({ settledDays, dedupeDays, batch: BATCH_ROWS });
        deleted = Object.values(rows).reduce((sum, count) => sum + count, 0);
        total += deleted;
        if (deleted > 0) await clock.sleep(PAUSE_MS, signal);
      }
      if (total > 0) logger.info({ rows: total }, 'deleted rows past retention');
      return {};
    },
  };
}

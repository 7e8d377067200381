import type { Clock, Logger, TenantErasure } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface TenantErasureOptions {
  readonly erasure: TenantErasure;
  readonly clock: Clock;
  readonly logger: Logger;
}

const BATCH_ROWS = 500;
const PAUSE_MS = 20;

/**
 * Deletes what `DELETE /admin/v1/tenants` asked for; the receipt counts along. And goes on with conversations whose node died
 * while it deleted them. People ask for it: it counts as no repair.
 */
export function tenantErasure({ erasure, clock, logger }: TenantErasureOptions): Sweep {
  return {
    name: 'tenant-erasure',
    deadlineMs: 30_000,
    run: async (signal) => {
      while (!signal.aborted && (await erasure.conversations(BATCH_ROWS)) > 0) await clock.sleep(PAUSE_MS, signal);
      while (!signal.aborted) {
        const done = await erasure.step(BATCH_ROWS);
        if (done === null) return {};
        if (done.table === 'tenants') logger.info({ tenantId: done.tenantId }, 'deleted a tenant and all it had');
        await clock.sleep(PAUSE_MS, signal);
      }
      return {};
    },
  };
}

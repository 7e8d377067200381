import type { LaneBatches, Lease, Scheduler } from '@turnkeeper/core';
import type { Readiness, Vitals } from '@turnkeeper/platform/process';

export interface VitalParts {
  readonly scheduler: Pick<Scheduler, 'hasClaimable'>;
  readonly batches: Pick<LaneBatches, 'progress'>;
  readonly lease: Pick<Lease, 'isSafe'>;
}

/**
 * What must move in a worker, else it takes itself out. While the database does not answer (the lease is not safe) nothing
 * can, and that costs the worker its readiness alone.
 */
export function watchWork(
  process: { readonly vitals: Pick<Vitals, 'watchProgress'>; readonly readiness: Pick<Readiness, 'unless'> },
  { scheduler, batches, lease }: VitalParts,
): void {
  const { vitals, readiness } = process;
  vitals.watchProgress('claims', () => {
    const { isDue, steps } = batches.progress.claims;
    return { isDue: lease.isSafe && (isDue || scheduler.hasClaimable), steps };
  });
  vitals.watchProgress('commits', () => {
    const { isDue, steps } = batches.progress.ends;
    return { isDue: lease.isSafe && isDue, steps };
  });
  readiness.unless(() => (lease.isSafe ? null : 'store_unavailable'));
}

import type { TenantId, UsageCounting } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

const TENANTS_MAX = 100;
const ROWS_MAX = 2_000;
/** Longer than any statement that writes an end may run. */
const LAG_MS = 30_000;

/**
 * Adds up what tenants used, far enough behind that everything up to there has been committed (decision 0013): who is furthest
 * behind first, one short step of each in turn. A tenant that fails holds up nobody else; its error is told at the end.
 */
export function usage({ counting }: { readonly counting: UsageCounting }): Sweep {
  return {
    name: 'usage',
    // longer than a statement may take: one that fails leaves time for the other tenants
    deadlineMs: 60_000,
    run: async (signal) => {
      const failed = new Map<TenantId, unknown>();
      for (let moved = true; moved && !signal.aborted; ) {
        moved = false;
        for (const tenantId of await counting.due({ tenants: TENANTS_MAX, lagMs: LAG_MS })) {
          if (signal.aborted || failed.has(tenantId)) continue;
          const step = counting.count(tenantId, { rows: ROWS_MAX, lagMs: LAG_MS });
          moved = (await step.catch((error: unknown) => !failed.set(tenantId, error))) || moved;
        }
      }
      for (const error of failed.values()) throw error;
      return {};
    },
  };
}

import type { UsageCounting } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

const TENANTS_MAX = 20;
const TURNS_MAX = 2_000;
/** Longer than any statement that writes an end may run. */
const LAG_MS = 30_000;

/** Adds up what tenants used, far enough behind that everything up to there has been committed (decision 0013). */
export function usage({ counting }: { readonly counting: UsageCounting }): Sweep {
  return {
    name: 'usage',
    deadlineMs: 20_000,
    run: async (signal) => {
      let counted = 1;
      while (counted > 0 && !signal.aborted) {
        counted = await counting.count({ tenants: TENANTS_MAX, turns: TURNS_MAX, lagMs: LAG_MS });
      }
      return {};
    },
  };
}

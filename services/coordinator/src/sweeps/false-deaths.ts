import type { Counter, RepairStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface FalseDeathsOptions {
  readonly repair: Pick<RepairStore, 'countFalseDeaths' | 'countStaleCommits'>;
  /** `takeovers_total` */
  readonly takeovers: Counter;
  /** `stale_fence_total` */
  readonly staleFences: Counter;
}

/**
 * Counts processes that were declared dead and were not (paused, or cut off), and the commits that their fences refused
 * since: such a process ends, and its own metrics with it.
 */
export function falseDeaths({ repair, takeovers, staleFences }: FalseDeathsOptions): Sweep {
  return {
    name: 'false-deaths',
    deadlineMs: 2000,
    run: async () => {
      const woke = await repair.countFalseDeaths();
      if (woke > 0) takeovers.inc({ cause: 'lease_over', false: 'true' }, woke);
      const stale = await repair.countStaleCommits();
      if (stale > 0) staleFences.inc({ at: 'commit' }, stale);
      return {};
    },
  };
}

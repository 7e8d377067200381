import type { Counter, RepairStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface FalseDeathsOptions {
  readonly repair: Pick<RepairStore, 'countFalseDeaths'>;
  /** `takeovers_total` */
  readonly takeovers: Counter;
}

/** Counts processes that were declared dead and were not: paused, or cut off. What they did since was refused by their fences. */
export function falseDeaths({ repair, takeovers }: FalseDeathsOptions): Sweep {
  return {
    name: 'false-deaths',
    deadlineMs: 2000,
    run: async () => {
      const woke = await repair.countFalseDeaths();
      if (woke > 0) takeovers.inc({ cause: 'lease_over', false: 'true' }, woke);
      return {};
    },
  };
}

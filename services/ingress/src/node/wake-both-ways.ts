import type { WakeUps } from '@turnkeeper/core';

/** Every wake-up takes both ways: the hint that is there at once, and the job that outlives a lost hint. */
export function wakeBothWays(hints: WakeUps, jobs: WakeUps): WakeUps {
  return {
    wake: (partition, wakeUps) => {
      hints.wake(partition, wakeUps);
      jobs.wake(partition, wakeUps);
    },
  };
}

import type { WakeUps } from '../ports/signals.ts';

/** Tells every way in turn: the fast one that may be missed first, then the one that waits in a queue. */
export function combineWakeUps(...ways: readonly WakeUps[]): WakeUps {
  return {
    wake: (partition, wakeUps) => {
      for (const way of ways) way.wake(partition, wakeUps);
    },
  };
}

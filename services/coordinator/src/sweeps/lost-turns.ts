import {
  type Counter,
  type Histogram,
  interruptLostTurns,
  type Logger,
  type RepairStore,
  type ResumeBreaker,
} from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';
import { type LaneWakerOptions, wakeLanes } from './wake-lanes.ts';

export interface LostTurnsOptions extends LaneWakerOptions {
  readonly repair: Pick<RepairStore, 'lostTurns' | 'interrupt'>;
  readonly breaker: ResumeBreaker;
  /** `resumes_total` */
  readonly resumes: Counter;
  /** `events_parked` */
  readonly parked: Counter;
  /** `takeover_delay_seconds` */
  readonly delay: Histogram;
  readonly logger: Logger;
}

const TURNS_MAX = 500;
const BROKEN = 'resumed turns end process after process: they wait for people now';

/**
 * Interrupts every running turn whose process is dead or gone, each time it looks and not only when somebody died: a
 * claim that was on its way then is found by a later look (protocol H10).
 */
export function lostTurns(options: LostTurnsOptions): Sweep {
  const { breaker, delay, logger, parked, repair, resumes } = options;
  return {
    name: 'lost-turns',
    deadlineMs: 10_000,
    run: async (signal) => {
      const repairs: Record<string, number> = {};
      let found = TURNS_MAX;
      while (found === TURNS_MAX && !signal.aborted) {
        const turns = await interruptLostTurns(repair, TURNS_MAX, breaker);
        found = turns.length;
        for (const { lostForMs, outcome } of turns) {
          repairs[outcome] = (repairs[outcome] ?? 0) + 1;
          delay.observe(lostForMs / 1000);
          resumes.inc({ reason: 'restart_interrupted', outcome });
          if (outcome === 'parked') parked.inc();
        }
        await wakeLanes(options, turns.map(({ lane }) => lane)); // biome-ignore format: one thought
      }
      if (repairs.held !== undefined) logger.error({ code: 'worker_lost_too_often' }, BROKEN);
      if (Object.keys(repairs).length > 0) logger.warn(repairs, 'interrupted turns of lost processes');
      return repairs;
    },
  };
}

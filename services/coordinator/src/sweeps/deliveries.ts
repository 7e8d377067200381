import { type RepairStore, repairDeliveries } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';
import { type LaneWakerOptions, wakeLanes } from './wake-lanes.ts';

export interface DeliveriesOptions extends LaneWakerOptions {
  readonly repair: Pick<RepairStore, 'lostSends' | 'unknownSends' | 'decideUnknown'>;
}

const ROWS_MAX = 500;

/**
 * Sends of lost processes become unknown; unknown ones are owed one marked resend, wait for a person or are given up, and
 * the lane's owner is told of what it may send now.
 */
export function deliveries(options: DeliveriesOptions): Sweep {
  return {
    name: 'deliveries',
    deadlineMs: 10_000,
    run: async (signal) => {
      const repairs = { unknown: 0, resent: 0, held: 0, abandoned: 0 };
      let found = ROWS_MAX;
      while (found >= ROWS_MAX && !signal.aborted) {
        const { unknown, resent, held, abandoned } = await repairDeliveries(options.repair, ROWS_MAX);
        found = Math.max(unknown, resent.length + held + abandoned.length);
        repairs.unknown += unknown;
        repairs.resent += resent.length;
        repairs.held += held;
        repairs.abandoned += abandoned.length;
        await wakeLanes(options, [...resent, ...abandoned]);
      }
      return repairs;
    },
  };
}

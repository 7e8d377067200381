import type { RepairStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';
import { type LaneWakerOptions, wakeLanes } from './wake-lanes.ts';

export interface DeliveriesOptions extends LaneWakerOptions {
  readonly repair: Pick<RepairStore, 'repairDeliveries'>;
}

const ROWS_MAX = 500;

/** Sends of lost processes become unknown; unknown ones are owed one marked resend, which the lane's owner is told of. */
export function deliveries(options: DeliveriesOptions): Sweep {
  return {
    name: 'deliveries',
    deadlineMs: 10_000,
    run: async (signal) => {
      const repairs = { unknown: 0, resent: 0 };
      let found = ROWS_MAX;
      while (found >= ROWS_MAX && !signal.aborted) {
        const { unknown, resent } = await options.repair.repairDeliveries(ROWS_MAX);
        found = Math.max(unknown, resent.length);
        repairs.unknown += unknown;
        repairs.resent += resent.length;
        await wakeLanes(options, resent);
      }
      return repairs;
    },
  };
}

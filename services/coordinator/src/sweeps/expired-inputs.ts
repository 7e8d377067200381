import type { InputStore } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';
import { type LaneWakerOptions, wakeLanes } from './wake-lanes.ts';

export interface ExpiredInputsOptions extends LaneWakerOptions {
  readonly inputs: Pick<InputStore, 'expire'>;
}

const ROWS_MAX = 200;

/** Questions that nobody answered in time: their turns go on and are told so. No repair: a question may run out. */
export function expiredInputs(options: ExpiredInputsOptions): Sweep {
  return {
    name: 'expired-inputs',
    deadlineMs: 10_000,
    run: async (signal) => {
      let found = ROWS_MAX;
      while (found === ROWS_MAX && !signal.aborted) {
        const lanes = await options.inputs.expire(ROWS_MAX);
        found = lanes.length;
        await wakeLanes(options, lanes);
      }
      return {};
    },
  };
}

import type { Costs } from './plan.ts';

/** As measured on two cores; `docs/scaling.md` has the commands, and a test compares. */
export const MEASURED: Costs = {
  cpuMicros: { ingress: 184, worker: 108, postgres: 280, redis: 22 },
  bytesPerMessage: 1_590,
  bytesPerLane: 814,
  bytesPerTurn: 14_000,
  idleMegabytes: 200,
  connections: { ingress: 20, worker: 14, coordinator: 6 },
};

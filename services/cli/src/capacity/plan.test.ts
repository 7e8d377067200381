import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { MEASURED } from './costs.ts';
import { type Costs, type Demand, planCapacity } from './plan.ts';

const COSTS: Costs = {
  cpuMicros: { ingress: 200, worker: 100, postgres: 300, redis: 20 },
  bytesPerMessage: 1_000,
  bytesPerLane: 500,
  bytesPerTurn: 10_000,
  idleMegabytes: 150,
  connections: { ingress: 10, worker: 8, coordinator: 4 },
};
const DEMAND: Demand = {
  ...{ tenants: 2_000, lanesPerTenant: 100, messagesPerTenantDay: 864, peakFactor: 5 },
  ...{ turnSeconds: 20, keepDays: 100, workerSlots: 2_000 },
};

test('rates, turns in flight and nodes follow from the demand', () => {
  const plan = planCapacity(DEMAND, COSTS);
  expect(plan.messagesPerSecond).toEqual({ mean: 20, peak: 100 });
  expect(plan.turnsInFlight).toBe(2_000);
  expect(plan.workers).toBe(2);
  expect(plan.cores.postgres).toBeCloseTo(0.06);
  expect(plan.databaseConnections).toBe(2 * 10 + 2 * 8 + 2 * 4);
  expect(plan.databaseGigabytes).toBeCloseTo((2_000 * (864 * 100 * 1_000 + 100 * 500)) / 2 ** 30);
  expect(plan.beyondOneDatabase).toBe(false);
});

test('slow agents need workers for their slots, fast ones for their processor time', () => {
  expect(planCapacity({ ...DEMAND, turnSeconds: 200 }, COSTS).workers).toBe(20);
  const busy = planCapacity({ ...DEMAND, turnSeconds: 0, messagesPerTenantDay: 864_000 }, COSTS);
  expect(busy.workers).toBe(20);
  expect(busy.ingress).toBe(40);
  expect(busy.partitions).toBe(256);
  expect(busy.beyondOneDatabase).toBe(true);
});

test('nothing at all still has two of each', () => {
  const plan = planCapacity({ ...DEMAND, tenants: 1, messagesPerTenantDay: 0 }, COSTS);
  expect([plan.ingress, plan.workers, plan.coordinators, plan.partitions]).toEqual([2, 2, 2, 16]);
});

test('the costs are those that docs/scaling.md tells', async () => {
  const page = await readFile(new URL('../../../../docs/scaling.md', import.meta.url), 'utf8');
  const { cpuMicros, bytesPerMessage, bytesPerLane, connections } = MEASURED;
  for (const micros of Object.values(cpuMicros)) expect(page).toContain(`| ${micros} µs |`);
  for (const bytes of [bytesPerMessage, bytesPerLane]) expect(page).toContain(`| ${bytes.toLocaleString('en-US')} |`);
  for (const count of Object.values(connections)) expect(page).toMatch(new RegExp(`\\| ${count}[:| ]`));
});

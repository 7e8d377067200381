import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measureFailOver } from './fail-over.ts';
import { faults } from './faults.ts';
import { CLEAN, openStage, type Stage, underLoad } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
}, 300_000);
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
}, 60_000);

describe('under load nothing is lost, doubled, reordered or overlapping', () => {
  test.each(faults(false).map((fault) => [fault.name, fault] as const))(
    '%s',
    async (_name, fault) => {
      const load = { ratePerSecond: 40, seconds: fault.seconds, lanes: 40, delayMs: 50 };
      const trial = await underLoad(stage, load, () => fault.strike(stage));
      expect(trial).toMatchObject(CLEAN);
      expect(trial.report.answered).toBe(trial.report.sent);
      expect(trial.explained.events).toBeGreaterThanOrEqual(trial.report.accepted);
    },
    180_000,
  );
});

test('every lane of a killed worker gets its next turn', async () => {
  const { lanes, firstMs } = await measureFailOver(stage.cluster, 0);
  expect(lanes).toBeGreaterThan(0);
  expect(firstMs).toBeGreaterThan(0);
}, 90_000);

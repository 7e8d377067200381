import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cells, trialOf } from './cell.ts';
import { measureFailOver } from './fail-over.ts';
import { killLeader } from './faults.ts';
import { CLEAN, openStage, type Stage, type Trial, underLoad } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
}, 300_000);
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
}, 60_000);

const LOAD = { ratePerSecond: 40, lanes: 40 };

/** Each fault and each phase once; `npm run chaos` has all of them with all. */
const CELLS = [
  ['kill -9', 'accepting'],
  ['kill -9', 'running'],
  ['SIGSTOP', 'between model reply and commit'],
  ['SIGTERM', 'claimed'],
  ['FLUSHALL', 'between accept and activate'],
  ['Redis absent', 'claimed'],
  ['NATS absent', 'running'],
  ['Postgres stopped', 'between commit and send'],
  ['Postgres absent', 'between send and record'],
  ['every connection', 'accepting'],
] as const;

test('every fault and every phase is met once', () => {
  const all = cells(8_000);
  const isMet = (fault: string) => CELLS.some(([name]) => fault.startsWith(name));
  expect(all.filter(({ fault }) => !isMet(fault.name))).toEqual([]);
  expect(all.filter(({ phase }) => !CELLS.some(([, name]) => name === phase.name))).toEqual([]);
});

describe('under load nothing is lost, doubled, reordered or overlapping', () => {
  test.each(CELLS)(
    '%s, %s',
    async (name, at) => {
      const cell = cells(8_000).find(({ fault, phase }) => fault.name.startsWith(name) && phase.name === at);
      if (cell === undefined) throw new Error('no such cell');
      expectClean(await trialOf(stage, cell, LOAD));
    },
    180_000,
  );

  test('kill -9 of the leader', async () => {
    expectClean(await underLoad(stage, { ...LOAD, seconds: 8, delayMs: 50 }, () => killLeader(stage)));
  }, 180_000);
});

test('every lane of a killed worker gets its next turn', async () => {
  const { lanes, firstMs, others } = await measureFailOver(stage.cluster, 0);
  expect(lanes).toBeGreaterThan(0);
  expect(firstMs).toBeGreaterThan(0);
  // those of the worker that lives were answered meanwhile, too
  expect(others.duringMs.length).toBe(others.idleMs.length);
}, 90_000);

function expectClean(trial: Trial): void {
  expect(trial).toMatchObject(CLEAN);
  expect(trial.report.answered).toBe(trial.report.sent);
  expect(trial.explained.events).toBeGreaterThanOrEqual(trial.report.accepted);
}

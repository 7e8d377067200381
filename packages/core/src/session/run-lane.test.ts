import { describe, expect, it } from 'vitest';
import type { Broken } from './model/broken.ts';
import { faultOf } from './model/faults.ts';
import { World, type WorldOptions } from './model/world.ts';

const RUNS = 100;
const TIMEOUT = { timeout: 60_000 };

type Setting = Omit<WorldOptions, 'seed'>;

async function faults(setting: Setting): Promise<string[]> {
  const found: string[] = [];
  for (let seed = 1; seed <= RUNS; seed++) {
    // every other world keeps idle lanes in hand
    const world = new World({ lingerMs: seed % 2 === 0 ? 1500 : 0, ...setting, seed });
    await world.run();
    const fault = faultOf(world);
    if (fault !== null) found.push(`seed ${seed}: ${fault}`);
  }
  return found;
}

const sound: readonly [string, Setting][] = [
  ['wake-ups alone, with hand-overs', { budget: { events: 6, handOvers: 3 } }],
  ['wake-ups alone, with stops and skipped rows', { budget: { events: 6, handOvers: 1, stops: 2 }, skipRate: 0.3 }],
  ['killed workers and lost wake-ups', { budget: { events: 6, kills: 2, lostWakeUps: 2 }, scan: true }],
  ['workers taken for dead that run on', { budget: { events: 6, falseDeaths: 2, handOvers: 1 }, scan: true }],
  ['Redis flushed', { budget: { events: 6, flushes: 3, handOvers: 2 }, scan: true }],
  ['claims that the database lost', { budget: { events: 6, lostClaims: 3, kills: 1 }, scan: true }],
  ['drains', { budget: { events: 6, drains: 2, handOvers: 1 } }],
  ['requests whose outcome is lost', { budget: { events: 6, handOvers: 2 }, faultRate: 0.15, scan: true }],
  [
    'everything at once',
    {
      budget: { events: 10, kills: 1, falseDeaths: 1, flushes: 1, handOvers: 2, stops: 2, lostWakeUps: 2, drains: 1 },
      ...{ faultRate: 0.05, skipRate: 0.1, scan: true },
    },
  ],
];

describe('the lane protocol, two workers, any order of what happens', TIMEOUT, () => {
  it.each(sound)('ends every event once and in order: %s', async (_name, setting) => {
    expect(await faults(setting)).toEqual([]);
  });
});

const moved = { events: 6, handOvers: 3 };
const lost = { events: 20, lostClaims: 15, handOvers: 4, flushes: 8, falseDeaths: 2 };
const unsound: readonly [string, Broken, Omit<Setting, 'broken'>][] = [
  ['dirty cleared late, no look', { dirtyLate: true, noLook: true }, { budget: { events: 6 } }],
  ['no look after a release', { noLook: true }, { budget: moved }],
  ['a busy lane dropped, a look before the release', { dropOnBusy: true, lookFirst: true }, { budget: moved }],
  ['a busy lane dropped, no look', { dropOnBusy: true, noLook: true }, { budget: moved }],
  ['the owner not told', { noReact: true }, { budget: moved }],
  ['a stop that names the lane', { stopNamesLane: true }, { budget: { events: 8, stops: 4 } }],
  ['a fence without its turn id', { fenceOnly: true }, { budget: lost, scan: true }],
  ['no scan after a crash', {}, { budget: { events: 6, kills: 2, lostWakeUps: 2 } }],
];

describe('the same checks, on a worker broken on purpose', TIMEOUT, () => {
  it.each(unsound)('see: %s', async (_name, broken, setting) => {
    expect(await faults({ ...setting, broken })).not.toEqual([]);
  });
});

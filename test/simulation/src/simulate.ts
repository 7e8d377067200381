import { faultOf, SeededIds, World, type WorldOptions } from '@turnkeeper/core/testing';

export interface Found {
  readonly seed: number;
  readonly fault: string;
}

/** What may happen in the run of a seed: the seed decides that, too. */
function settingOf(seed: number): WorldOptions {
  const dice = new SeededIds(seed ^ 0x5eed);
  const upTo = (max: number) => Math.floor(dice.random() * (max + 1));
  return {
    seed,
    budget: {
      ...{ events: 2 + upTo(6), kills: upTo(2), falseDeaths: upTo(1), flushes: upTo(2), handOvers: upTo(2) },
      ...{ stops: upTo(1), lostWakeUps: upTo(2), drains: upTo(1), lostClaims: upTo(2), clockJumps: upTo(1) },
    },
    faultRate: upTo(2) * 0.05,
    skipRate: upTo(1) * 0.1,
    lingerMs: upTo(2) * 1000,
    scan: true,
  };
}

/** Runs the worlds of these seeds, one after the other; `over` plants a fault. */
export async function simulate(
  seeds: Iterable<number>,
  over: Pick<WorldOptions, 'broken' | 'scan'> = {},
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const seed of seeds) {
    const fault = await runOf(seed, over);
    if (fault !== null) found.push({ seed, fault });
  }
  return found;
}

async function runOf(seed: number, over: Pick<WorldOptions, 'broken' | 'scan'>): Promise<string | null> {
  const world = new World({ ...settingOf(seed), ...over });
  await world.run();
  return faultOf(world);
}

import { describe, expect, it } from 'vitest';
import { AppError } from '../errors.ts';
import { World } from './model/world.ts';

describe('a step that fails in a way nobody foresaw', () => {
  it.each(['claim', 'commit'] as const)('strands nothing: %s', async (step) => {
    for (let seed = 1; seed <= 30; seed++) {
      const world = new World({ seed, budget: { events: 4 }, scan: true });
      const right = world.lanes[step].bind(world.lanes);
      let left = 2;
      // after its effect, so that the row says more than the worker knows
      world.lanes[step] = async (...request: never[]) => {
        const answer = await (right as (...of: never[]) => Promise<never[]>)(...request);
        if (left-- > 0) throw new AppError({ code: 'internal', message: 'a fault of the program' });
        return answer;
      };
      await world.run();
      expect(world.stranded(), `seed ${seed}`).toEqual([]);
      expect(world.failures.length).toBeGreaterThan(0);
    }
  });
});

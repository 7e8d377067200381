import { expect, it } from 'vitest';
import { simulate } from './simulate.ts';
import { simulateAll } from './threads.ts';

/** Enough for CI; a second's worth elsewhere: `npm run simulation` runs as many as one likes. */
const RUNS = process.env['CI'] === undefined ? 300 : 20_000;
const seeds = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

it('finds nothing in the lane protocol, whatever happens in whatever order', async () => {
  expect(await simulateAll(1, RUNS)).toEqual([]);
});

it('finds a planted fault, and its seed shows it again, exactly', async () => {
  const planted = { broken: { noLook: true, noReact: true }, scan: false };
  const [first] = await simulate(seeds(300), planted);
  if (first === undefined) throw new Error('not found');
  expect(await simulate([first.seed], planted)).toEqual([first]);
});

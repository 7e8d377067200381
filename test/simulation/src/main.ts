import { parseArgs } from 'node:util';
import { simulateAll } from './threads.ts';

const RUNS = 20_000;

const { values } = parseArgs({ options: { seed: { type: 'string' }, runs: { type: 'string' } } });
const first = Number(values.seed ?? 1);
const runs = Number(values.runs ?? (values.seed === undefined ? RUNS : 1));
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(runs) || runs < 1) {
  console.error('usage: npm run simulation -- [--seed n] [--runs n]');
  process.exit(2);
}

const startedMs = performance.now();
const found = await simulateAll(first, runs);
for (const { seed, fault } of found) console.error(`--seed ${seed}: ${fault}`);
console.log(
  `simulation: ${runs} runs, ${found.length} faults, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
);
process.exit(found.length > 0 ? 3 : 0);

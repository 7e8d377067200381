/**
 * `npm run fuzz [SECONDS [SEED]]`: the fuzz of the HTTP API for longer than `npm test` has time for (600 s), with a new
 * seed that it prints.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const [seconds = '600', seed = String(randomInt(2 ** 31))] = process.argv.slice(2);
const env = { TURNKEEPER_FUZZ_SECONDS: seconds, TURNKEEPER_FUZZ_SEED: seed };
process.stdout.write(`seed ${seed}\n`);
const file = 'test/integration/src/contract/api-fuzz.test.ts';
const { status } = spawnSync('vitest', ['run', file], { stdio: 'inherit', env: { ...process.env, ...env } });
process.exitCode = status ?? 1;

/**
 * `node scripts/run-tests.ts test|selftest [FILTER …]`: runs the vitest projects of a name, with one set of services
 * for all of them, leaves the results in .cache/results/<name>.json, and ends with a line that counts them.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { startLocalServices } from '../packages/platform/src/local-services/index.ts';
import { readTally, resultsFile } from './test-results.ts';

const SUITES: Readonly<Record<string, readonly string[]>> = {
  test: ['unit', 'adapters', 'integration', 'model'],
  selftest: ['selftest'],
};

const [name = 'test', ...filters] = process.argv.slice(2);
const projects = SUITES[name];
if (projects === undefined) throw new Error(`There is no suite ${name}: ${Object.keys(SUITES).join(', ')}`);

const report = resultsFile(name);
mkdirSync(dirname(report), { recursive: true });
rmSync(report, { force: true });

const code = projects.includes('adapters') ? await withServices(runVitest) : await runVitest({});
const { passed, failed, skipped } = readTally(name);
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = code !== 0 || failed > 0 || passed === 0 ? 1 : 0;

async function withServices(run: (env: NodeJS.ProcessEnv) => Promise<number>): Promise<number> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'] }).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return undefined;
  });
  if (services === undefined) return 1;
  try {
    return await run({
      TURNKEEPER_POSTGRES_URL: services.urls.postgres,
      TURNKEEPER_REDIS_URL: services.urls.redis,
      TURNKEEPER_NATS_URL: services.urls.nats,
    });
  } finally {
    await services.stop();
  }
}

/** Resolves with the exit code; a signal to this process is passed on by the terminal, or by npm to the whole group. */
function runVitest(env: NodeJS.ProcessEnv): Promise<number> {
  const args = ['run', ...(projects ?? []).flatMap((project) => ['--project', project]), ...filters];
  const child = spawn('vitest', [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`], {
    stdio: 'inherit',
    // the processes that tests start need not compile again what one before them has
    env: { NODE_COMPILE_CACHE: resolve('.cache/compiled'), ...process.env, ...env },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
}

/**
 * `node scripts/run-tests.ts test|selftest [FILTER …]`: runs the vitest projects of a name, with one set of services
 * for all of them, leaves the results in .cache/results/<name>.json, and ends with a line that counts them.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { startLocalServices } from '../packages/platform/src/local-services/index.ts';

const SUITES: Readonly<Record<string, readonly string[]>> = {
  test: ['unit', 'adapters', 'integration', 'model'],
  selftest: ['selftest'],
};

const [name = 'test', ...filters] = process.argv.slice(2);
const projects = SUITES[name];
if (projects === undefined) throw new Error(`There is no suite ${name}: ${Object.keys(SUITES).join(', ')}`);

const resultsFile = `.cache/results/${name}.json`;
mkdirSync('.cache/results', { recursive: true });
rmSync(resultsFile, { force: true });

const code = projects.includes('adapters') ? await withServices(runVitest) : await runVitest({});
const { numPassedTests, numFailedTests, numPendingTests } = readResults();
process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`);
process.exitCode = code !== 0 || numPassedTests === 0 ? 1 : 0;

async function withServices(run: (env: NodeJS.ProcessEnv) => Promise<number>): Promise<number> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'] });
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
  const child = spawn(
    'vitest',
    [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${resultsFile}`],
    {
      stdio: 'inherit',
      env: { ...process.env, ...env },
    },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
}

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

function readResults(): Results {
  return JSON.parse(readFileSync(resultsFile, 'utf8')) as Results;
}

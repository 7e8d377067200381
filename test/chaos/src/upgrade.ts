/**
 * `npm run upgrade:rehearse -- [--from REVISION] [--rate 60]`: an upgrade, its way back, and forward again, each rolled through
 * all processes under load. The old program is that of the commit before the last one that changed the schema; the database
 * is its, until the new program's migration runs under the load, too. Exit code 3 when anything was lost, doubled,
 * reordered or refused. Needs the history of the repository.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startLocalServices } from '@turnkeeper/platform/local-services';
import { migrate } from '@turnkeeper/storage';
import { startCluster } from '@turnkeeper/test-harness';
import pg from 'pg';
import { isRolled, ROLLING_ENV, type Rollout, rollOut } from './rolling.ts';
import { isClean } from './stage.ts';

const run = promisify(execFile);
const TODAY = fileURLToPath(new URL('../../../', import.meta.url));
const MIGRATIONS = 'packages/storage/migrations';
const INSTALL_MS = 600_000;
const STEP_MS = 120_000;

const { values: flags } = parseArgs({
  options: { from: { type: 'string' }, rate: { type: 'string', default: '60' } },
});

const revision = flags.from ?? `${await git('log', '-1', '--format=%H', '--', MIGRATIONS)}~1`;
const old = await checkOut(revision);
const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'], env: {}, prefer: 'program' });
try {
  const database = await databaseOf(old);
  say(`from ${await git('log', '-1', '--format=%h %s', revision)}`);
  await using cluster = await startCluster({
    ...{ urls: services.urls, ingress: 2, workers: 2, coordinators: 2, env: ROLLING_ENV },
    version: { program: old, database },
  });
  const load = { ratePerSecond: Number(flags.rate), lanes: 60, delayMs: 300 };
  const roll = (program: string, prepare: () => Promise<void>) =>
    rollOut(cluster, cluster.nodes, { ...load, version: { program, prepare } });
  const forward = async () => {
    const { version, applied } = await migrate({ url: database.url });
    say(`schema ${version}: ${applied.length} migrations applied under load`);
  };
  judge('forward', await roll(TODAY, forward));
  judge('back', await roll(old, () => Promise.resolve()));
  judge('forward again', await roll(TODAY, forward));
} finally {
  await services.stop();
  await rm(old, { recursive: true, force: true });
}

/** The sources of a revision in a folder of their own, with what they depend on. */
async function checkOut(from: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-upgrade-'));
  const archive = join(folder, 'sources.tar');
  await git('archive', '--output', archive, from);
  await run('tar', ['-xf', archive, '-C', folder], { timeout: STEP_MS });
  await run(process.execPath, ['scripts/bootstrap.mjs'], { cwd: folder, timeout: INSTALL_MS });
  return folder;
}

/** A new database that the program of this folder has migrated. */
async function databaseOf(program: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const url = new URL(services.urls.postgres);
  const server = new pg.Client({ connectionString: url.href });
  url.pathname = `/upgrade_${randomBytes(4).toString('hex')}`;
  await server.connect();
  await server.query(`create database ${url.pathname.slice(1)}`);
  await server.end();
  await run(process.execPath, ['services/cli/src/main.ts', 'migrate', '--postgres-url', url.href], {
    ...{ cwd: program, timeout: STEP_MS },
  });
  // its server ends with this program
  return { url: url.href, drop: () => Promise.resolve() };
}

async function git(...args: readonly string[]): Promise<string> {
  return (await run('git', args, { cwd: TODAY, timeout: STEP_MS })).stdout.trim();
}

function judge(name: string, rollout: Rollout): void {
  const { sent, accepted, refused, answered, lost, doubled, reordered, overlapping, repeats } = rollout.report;
  const { lanes, interruptedTurns, deadProcesses } = rollout.strikes;
  say(
    [
      `${name}: ${rollout.replaced} processes replaced`,
      `sent ${sent} accepted ${accepted} refused ${refused} answered ${answered}`,
      `lost ${lost} doubled ${doubled} reordered ${reordered} overlapping ${overlapping}`,
      `made again: ${repeats.unavailable} 5xx, ${repeats.unreachable} unreachable, ${repeats.cut} cut`,
      `strikes ${lanes + interruptedTurns + deadProcesses}`,
      rollout.violations.length === 0
        ? 'rows clean'
        : `rows: ${rollout.violations.map((one) => one.invariant).join(', ')}`,
    ].join(' | '),
  );
  if (!(isClean(rollout) && isRolled(rollout))) process.exitCode = 3;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

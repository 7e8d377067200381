import { createHash } from 'node:crypto';
import { existsSync, readlinkSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '@turnkeeper/core';
import { systemClock } from '../process/clock.ts';
import { startGuarded } from '../process/guarded-child.ts';
import { isOpenToOthers, NOBODY } from './cache-folder.ts';
import { findPostgresProgram, type PostgresProgram } from './postgres-program.ts';
import type { ProgramRecipe } from './program-service.ts';
import type { ServiceSource } from './types.ts';

/** Postgres refuses to run as root. */
const uid = (): number | undefined => (process.getuid?.() === 0 ? NOBODY : undefined);

/** Where the data lie: in the data folder (then relative to it), unless the server's user cannot enter it (a checkout in /root). */
export function postgresFolder(dataDir: string): string {
  if (uid() === undefined || isOpenToOthers(dataDir)) return 'postgres';
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return join('/var/lib/turnkeeper', name, 'postgres');
}

/** A real Postgres with fsync and synchronous commits, whose superuser `postgres` has a password of its own. */
export async function postgresRecipe(from: {
  readonly folder: string;
  readonly logFile: string;
  readonly password: string;
  readonly persistent: boolean;
  readonly source: ServiceSource | undefined;
}): Promise<ProgramRecipe | null> {
  const found = await findPostgresProgram(from.source);
  if (!found) return null;
  const user = uid();
  return {
    name: 'postgres',
    source: found.source,
    program: join(found.bin, 'postgres'),
    env: ENVIRONMENT,
    ...(user === undefined ? {} : { uid: user }),
    logFile: from.logFile,
    deathSignal: 'SIGQUIT',
    gentleSignal: 'SIGINT',
    immediateSignal: 'SIGQUIT',
    urlAt: (port) => `postgres://postgres:${from.password}@127.0.0.1:${port}/postgres`,
    prepare: async () => {
      await makeCluster({ ...from, found });
      await clearLockFile(from.folder);
    },
    argsAt: (port) => ['-D', from.folder, ...settings(port, from.persistent)],
    answers: async () => (await lockFileLines(from.folder))[STATUS_LINE]?.trim() === 'ready',
  };
}

const ENVIRONMENT = { LC_ALL: 'C.UTF-8', TZ: 'UTC' };

/** The settings that a start passes to the server, for a persistent cluster or one for tests. */
export function postgresSettings(persistent: boolean): Readonly<Record<string, string>> {
  return {
    listen_addresses: '127.0.0.1',
    fsync: 'on',
    synchronous_commit: 'on',
    max_connections: '400',
    shared_buffers: persistent ? '512MB' : '256MB',
    max_wal_size: persistent ? '8GB' : '2GB',
    checkpoint_timeout: '15min',
    shared_preload_libraries: 'pg_stat_statements',
    log_checkpoints: 'off',
    timezone: 'UTC',
  };
}

function settings(port: number, persistent: boolean): string[] {
  const all = { ...postgresSettings(persistent), port: String(port), unix_socket_directories: '' };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** initdb into a folder beside, which takes its name when it is whole: a killed first start leaves nothing half-made. */
async function makeCluster(from: {
  readonly folder: string;
  readonly password: string;
  readonly persistent: boolean;
  readonly found: PostgresProgram;
}): Promise<void> {
  const { folder, found, persistent } = from;
  if (existsSync(join(folder, 'PG_VERSION'))) return;
  await mkdir(dirname(folder), { recursive: true, mode: 0o711 });
  const fresh = `${folder}.new`;
  const passwordFile = `${folder}.password`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await writeFile(passwordFile, from.password, { mode: 0o600 });
  const user = uid();
  if (user !== undefined) for (const path of [fresh, passwordFile]) await chown(path, user, user);
  try {
    await initdb({ bin: found.bin, folder: fresh, passwordFile, persistent });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(fresh, folder);
}

async function initdb(from: {
  readonly bin: string;
  readonly folder: string;
  readonly passwordFile: string;
  readonly persistent: boolean;
}): Promise<void> {
  const user = uid();
  const child = await startGuarded({
    program: join(from.bin, 'initdb'),
    args: [
      ...['-D', from.folder, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${from.passwordFile}`],
      ...['--encoding=UTF8', '--locale=C.UTF-8', '--no-instructions'],
      ...(from.persistent ? [] : ['--no-sync']),
    ],
    env: ENVIRONMENT,
    cwd: from.folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    deathSignal: 'SIGKILL',
    ...(user === undefined ? {} : { uid: user }),
  });
  let words = '';
  child.process.stderr?.on('data', (chunk) => {
    words += chunk;
  });
  const { code } = await child.ended;
  if (code === 0) return;
  throw new AppError({
    code: 'store_unavailable',
    message: `Postgres could not make its data folder ${from.folder}: ${words.trim().split('\n')[0] ?? 'initdb failed'}`,
  });
}

const LOCK_FILE = 'postmaster.pid';
const STATUS_LINE = 7;
const LEAVE_MS = 15_000;
const POLL_MS = 50;

async function lockFileLines(folder: string): Promise<string[]> {
  return (await readFile(join(folder, LOCK_FILE), 'utf8').catch(() => '')).split('\n');
}

/**
 * A server that was killed leaves its lock file; another process may have its pid by now (in a container, soon), and
 * Postgres would then refuse to start. A server that is still ending is waited for.
 */
async function clearLockFile(folder: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + LEAVE_MS;
  for (;;) {
    const pid = Number((await lockFileLines(folder))[0]);
    if (!Number.isInteger(pid) || pid <= 0) return;
    if (!runsIn(pid, folder)) break;
    if (systemClock.monotonicMs() > deadlineMs) {
      throw new AppError({
        code: 'store_unavailable',
        message: `The data in ${folder} are in use by process ${pid}: stop it, or use another data folder.`,
      });
    }
    await systemClock.sleep(POLL_MS);
  }
  await rm(join(folder, LOCK_FILE), { force: true });
}

/** Does this process work in the folder, as a Postgres server does? Without /proc: is it alive? */
function runsIn(pid: number, folder: string): boolean {
  try {
    if (existsSync('/proc/self/cwd')) return readlinkSync(`/proc/${pid}/cwd`) === folder;
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

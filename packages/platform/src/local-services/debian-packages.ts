import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environment } from '../config/index.ts';
import { findProgram } from '../process/find-program.ts';
import { cachedFolder } from './cache-folder.ts';

const run = promisify(execFile);
const STEP_MS = 120_000;

/** A program out of an unpacked package, with the libraries that came with it. */
export interface UnpackedProgram {
  readonly program: string;
  readonly libraryPath: string;
}

/**
 * Unpacks a Debian package and what it needs into the cache: no root, nothing installed, nothing started. The second
 * time it only looks. `null` where there is no apt or the package cannot be had; `explain` then gets the reason.
 */
export async function unpackDebian(
  packageName: string,
  programPath: string,
  explain: (reason: string) => void,
): Promise<UnpackedProgram | null> {
  if (!findProgram('apt-get') || !findProgram('dpkg-deb')) {
    explain('this system has no apt-get');
    return null;
  }
  try {
    const folder = await cachedFolder(`${await systemName()}-${packageName}`, (fresh) => fill(fresh, packageName));
    return { program: join(folder, programPath), libraryPath: await libraryPath(folder) };
  } catch (err) {
    explain(`apt-get could not fetch ${packageName} (${firstLine(err)})`);
    return null;
  }
}

async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8');
  const word = (name: string) => new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(release)?.[1] ?? '';
  return `${word('ID')}-${word('VERSION_ID')}-${process.arch}`;
}

async function fill(folder: string, packageName: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'turnkeeper-apt-'));
  try {
    try {
      await downloadAndUnpack({ folder, packageName, scratch, options: [] });
    } catch {
      // the system's package lists are missing or too old: fetch lists of our own
      const options = await ownLists(scratch);
      await downloadAndUnpack({ folder, packageName, scratch, options });
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function ownLists(scratch: string): Promise<string[]> {
  for (const part of ['lists/partial', 'cache/archives/partial']) await mkdir(join(scratch, part), { recursive: true });
  const options = [
    ...['-o', `Dir::State::Lists=${scratch}/lists`],
    ...['-o', `Dir::Cache=${scratch}/cache`],
    ...['-o', 'APT::Sandbox::User='],
  ];
  await apt([...options, '-qq', 'update'], scratch);
  return options;
}

async function downloadAndUnpack(from: {
  readonly folder: string;
  readonly packageName: string;
  readonly scratch: string;
  readonly options: readonly string[];
}): Promise<void> {
  const plan = ['-s', '-qq', '--no-install-recommends', 'install', '--reinstall', from.packageName];
  const { stdout } = await apt([...from.options, ...plan], from.scratch);
  const names = new Set([...stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? ''));
  await apt([...from.options, '-qq', 'download', from.packageName, ...names], from.scratch);
  for (const file of await readdir(from.scratch)) {
    if (file.endsWith('.deb'))
      await run('dpkg-deb', ['-x', join(from.scratch, file), from.folder], { timeout: STEP_MS });
  }
}

function apt(args: readonly string[], cwd: string) {
  const env = { PATH: environment()['PATH'], LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  return run('apt-get', [...args], { cwd, env, timeout: STEP_MS, maxBuffer: 16 * 1024 * 1024 });
}

/** `usr/lib/<machine>` and `lib/<machine>` of the unpacked tree. */
async function libraryPath(folder: string): Promise<string> {
  const found: string[] = [];
  for (const base of ['usr/lib', 'lib']) {
    if (!existsSync(join(folder, base))) continue;
    const entries = await readdir(join(folder, base), { withFileTypes: true });
    found.push(
      ...entries.filter((e) => e.isDirectory() && e.name.includes('-linux-')).map((e) => join(folder, base, e.name)),
    );
  }
  return found.join(':');
}

function firstLine(err: unknown): string {
  const text = err instanceof Error && 'stderr' in err && err.stderr ? String(err.stderr) : String(err);
  return text.split('\n')[0] ?? '';
}

import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError } from '@turnkeeper/core';
import { environment } from '../config/index.ts';

const OTHERS_MAY_ENTER = 0o001;
/** Who the database server runs as when we are root: it refuses to be root. */
export const NOBODY = 65_534;

/** True when every folder of this path that exists may be entered by any user. */
export function isOpenToOthers(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & OTHERS_MAY_ENTER) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/**
 * A folder of the cache that is made once and never changed after: `fill` writes into a fresh folder, which then takes
 * its name in one step, so that two processes at once do no harm. Root's cache lies where other users can enter.
 * @throws AppError `store_unavailable` when no place is writable; what `fill` throws
 */
export async function cachedFolder(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const root = await writableRoot();
  const folder = join(root, name);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(fresh, { mode: 0o755 });
    await fill(fresh);
    await rename(fresh, folder);
  } catch (err) {
    await rm(fresh, { recursive: true, force: true });
    // another process was quicker
    if (!existsSync(folder)) throw err;
  }
  return folder;
}

async function writableRoot(): Promise<string> {
  const isRoot = process.getuid?.() === 0;
  const base = environment()['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const places = [
    join(base, 'turnkeeper'),
    ...(isRoot ? ['/var/cache/turnkeeper'] : []),
    join(tmpdir(), `turnkeeper-cache-${process.getuid?.() ?? 0}`),
  ];
  for (const place of places) {
    if ((!isRoot || isOpenToOthers(dirname(place))) && (await isOurs(place))) return place;
  }
  throw new AppError({
    code: 'store_unavailable',
    message: `No folder for unpacked services can be written (tried ${places.join(', ')}): set XDG_CACHE_HOME to one.`,
  });
}

/** Makes the folder, and tells whether it is this user's own: programs are started from it. */
async function isOurs(place: string): Promise<boolean> {
  try {
    await mkdir(place, { recursive: true, mode: 0o755 });
    const probe = join(place, `.probe-${process.pid}-${randomBytes(4).toString('hex')}`);
    await mkdir(probe);
    await rm(probe, { recursive: true });
    return statSync(place).uid === (process.getuid?.() ?? 0);
  } catch {
    return false;
  }
}

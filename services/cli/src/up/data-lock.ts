import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../exit.ts';

/**
 * Two clusters must not run on one data folder. The lock holds our pid; one left by a killed run is taken over.
 * @throws CliError `failed` when another one runs
 */
export async function lockData(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'up.pid');
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (err) {
      if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err;
    }
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    if (await isUp(holder)) {
      throw new CliError(
        'failed',
        `"turnkeeper up" runs already on ${dataDir} (pid ${holder}). Stop it, or give the second one a folder of its own: npm start -- --data <folder>`,
      );
    }
    await rm(path, { force: true });
  }
}

/** Alive, and (where /proc tells) not another program that got its number. */
async function isUp(pid: number): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'EPERM')) return false;
  }
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  return commandLine === null || commandLine.split('\0').includes('up');
}

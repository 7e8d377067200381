import { execFile } from 'node:child_process';
import { access, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The model checker: from PATH, else the Debian package, unpacked into the checkout's cache (no root needed). */
export async function findSpin(): Promise<string> {
  if (await answers('spin', ['-V'])) return 'spin';
  const dir = join(import.meta.dirname, '..', '..', '..', '.cache', 'spin');
  const unpacked = join(dir, 'usr', 'bin', 'spin');
  if (await exists(unpacked)) return unpacked;
  await mkdir(dir, { recursive: true });
  try {
    if (process.getuid?.() === 0) await run('apt-get', ['update', '-qq']);
    await run('apt-get', ['download', '-qq', 'spin'], { cwd: dir });
    const archive = (await readdir(dir)).find((name) => name.endsWith('.deb'));
    await run('dpkg-deb', ['-x', archive ?? 'spin.deb', '.'], { cwd: dir });
  } catch (cause) {
    throw new Error('The model needs `spin`: it is not on PATH, and apt-get could not download the Debian package.', {
      cause,
    });
  }
  return unpacked;
}

/** Throws, in one sentence, when there is no C compiler to build the checker with. */
export async function requireCompiler(): Promise<void> {
  if (!(await answers('cc', ['--version']))) {
    throw new Error('The model needs a C compiler called `cc`: install gcc.');
  }
}

async function answers(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, [...args]).then(
    () => true,
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

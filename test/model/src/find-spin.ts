import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { unpackDebian } from '@turnkeeper/platform/local-services';

const run = promisify(execFile);

/** The model checker: from PATH, else the Debian package, unpacked into the cache (no root needed). */
export async function findSpin(): Promise<string> {
  if (await answers('spin', ['-V'])) return 'spin';
  const reasons: string[] = [];
  const unpacked = await unpackDebian('spin', 'usr/bin/spin', (reason) => reasons.push(reason));
  if (unpacked !== null) return unpacked.program;
  throw new Error(`The model needs spin: install it (${reasons.join('; ')}).`);
}

/** Throws, in one sentence, when there is no C compiler to build the checker with. */
export async function requireCompiler(): Promise<void> {
  if (await answers('cc', ['--version'])) return;
  throw new Error('The model needs a C compiler called cc: install gcc.');
}

async function answers(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, [...args]).then(
    () => true,
    () => false,
  );
}

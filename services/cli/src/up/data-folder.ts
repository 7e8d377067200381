import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CliError } from '../exit.ts';

/**
 * Makes the folder and those above it. Not by `recursive`, which goes round for ever where the system says of a folder that is
 * there that it is not (`/proc`).
 * @throws CliError when it cannot be made
 */
export async function makeDataFolder(folder: string): Promise<void> {
  // as root, the database's user must be able to pass through
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    await make(folder, mode);
  } catch (cause) {
    throw new CliError('usage', `${folder} cannot be made: give another folder with --data.`, cause);
  }
}

async function make(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    const parent = dirname(folder);
    if (!hasCode(error, 'ENOENT') || parent === folder) throw error;
    await make(parent, mode);
    await mkdir(folder, { mode });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { environment } from '../config/index.ts';

/** Where distributions put servers, which an ordinary user's PATH may lack. */
const MORE_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/opt/homebrew/bin'];

/** The absolute path of a program on PATH or in the usual folders; `null` when there is none. */
export function findProgram(name: string, folders: readonly string[] = pathFolders()): string | null {
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function pathFolders(): string[] {
  return [...(environment()['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), ...MORE_FOLDERS];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

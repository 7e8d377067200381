import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Paths of the repository's files under `roots`, new ones included, ignored and deleted ones not. */
export function trackedFiles(roots: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...roots], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed.split('\0').filter((path) => path !== '' && existsSync(path));
}

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createHeapKeeper } from './tight-heap.ts';

it('a large heap may grow little between two collections, a small one as the engine decides', () => {
  const flags: string[] = [];
  let usedMb = 60;
  const keep = createHeapKeeper(
    () => usedMb * 1024 * 1024,
    (flag) => flags.push(flag),
  );
  keep();
  for (const mb of [159, 161, 300, 170, 90]) {
    usedMb = mb;
    keep();
  }
  expect(flags).toEqual(['--heap-growing-percent=15', '--heap-growing-percent=0']);
});

it('the engine knows the flag', () => {
  // to set one that it does not know is no error
  expect(execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })).toContain('--heap-growing-percent');
});

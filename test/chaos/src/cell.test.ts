import { expect, test } from 'vitest';
import { cells } from './cell.ts';

test('the matrix has nine faults in seven phases, and each cell can be asked for alone', () => {
  const names = cells(10_000).map(({ name }) => name);
  expect(new Set(names).size).toBe(9 * 7);
  for (const name of names) expect(cells(10_000, name).map((cell) => cell.name)).toEqual([name]);
  expect(cells(10_000, 'kill -9,')).toHaveLength(7);
  expect(cells(10_000, 'claimed')).toHaveLength(9);
});

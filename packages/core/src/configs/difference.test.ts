import { expect, test } from 'vitest';
import { differencesOf } from './difference.ts';

test('equal values differ nowhere, whatever the order of their fields', () => {
  expect(differencesOf({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toEqual([]);
});

test('each changed, new and lost leaf is named by its pointer', () => {
  const before = { same: 1, deep: { x: 'old', gone: null }, list: [1, 2] };
  const after = { same: 1, deep: { x: 'new', 'a/b~': true }, list: [1, 2, 3] };
  expect(differencesOf(before, after)).toEqual([
    { pointer: '/deep/x', before: 'old', after: 'new' },
    { pointer: '/deep/gone', before: null },
    { pointer: '/deep/a~1b~0', after: true },
    { pointer: '/list', before: [1, 2], after: [1, 2, 3] },
  ]);
});

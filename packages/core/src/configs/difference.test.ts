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

test('what is new or gone is told leaf by leaf', () => {
  expect(differencesOf(undefined, { a: { b: 1, c: [] }, d: {} })).toEqual([
    { pointer: '/a/b', after: 1 },
    { pointer: '/a/c', after: [] },
    { pointer: '/d', after: {} },
  ]);
  expect(differencesOf({ a: { b: 1 } }, {})).toEqual([{ pointer: '/a/b', before: 1 }]);
});

test('an object in the place of something else is told whole', () => {
  expect(differencesOf({ a: 'text' }, { a: { b: 1 } })).toEqual([{ pointer: '/a', before: 'text', after: { b: 1 } }]);
  expect(differencesOf({ a: null }, { a: {} })).toEqual([{ pointer: '/a', before: null, after: {} }]);
  expect(differencesOf({ a: {} }, { a: {} })).toEqual([]);
});

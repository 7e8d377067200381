import { expect, test } from 'vitest';
import { evictAboveCap, evictUnderPressure, memoryBudgetMb } from './warm-state.ts';

const GIB = 1024 ** 3;

test.each([
  ['auto', 8 * GIB, 5324],
  [true, 8 * GIB, 5324],
  ['auto', null, null],
  ['auto', GIB / 2, null],
  ['768', null, 768],
  [768, GIB, 768],
  [0, GIB, null],
  [-1, GIB, null],
  ['', GIB, null],
  ['off', GIB, null],
  ['much', GIB, null],
])('a budget of %s in a container of %s bytes is %s MiB', (setting, limit, budget) => {
  expect(memoryBudgetMb(setting, limit)).toBe(budget);
});

test('above the cap only the oldest go, and nobody for one that is in use', () => {
  const warm = { lruToMru: ['a', 'b', 'c', 'd'], size: 4 };
  expect(evictAboveCap({ ...warm, midTurn: new Set() }, 2)).toEqual(['a', 'b']);
  expect(evictAboveCap({ ...warm, midTurn: new Set(['a']) }, 2)).toEqual(['b']);
  expect(evictAboveCap({ ...warm, midTurn: new Set() }, 9)).toEqual([]);
});

test('no more of them are looked at than are in excess', () => {
  let asked = 0;
  function* names() {
    for (;;) yield `lane ${asked++}`;
  }
  const midTurn = { has: (name: string) => name === 'lane 0' };
  expect(evictAboveCap({ lruToMru: names(), size: 130, midTurn }, 128)).toEqual(['lane 1']);
  expect(evictAboveCap({ lruToMru: names(), size: 128, midTurn }, 128)).toEqual([]);
  expect(asked).toBe(2);
});

test('under pressure the newest, what is in use and what is not stored stay', () => {
  const pass = { lruToMru: ['a', 'b', 'c', 'd', 'e', 'f'], midTurn: new Set(['a']), unflushed: new Set(['c']) };
  expect(evictUnderPressure({ ...pass, protectRecent: 2, maxPerPass: 16 })).toEqual(['b', 'd']);
  expect(evictUnderPressure({ ...pass, protectRecent: 99, maxPerPass: 16 })).toEqual(['b']);
  expect(evictUnderPressure({ ...pass, protectRecent: 0, maxPerPass: 1 })).toEqual(['b']);
});

import { expect, test } from 'vitest';
import { ago, ranges, shorten, shortId } from './show.ts';

const at = '2026-01-02T00:00:00.000Z';
const now = Date.parse(at);

test('an age is told in its largest whole unit', () => {
  const cases = { '0s': 999, '59s': 59_999, '1m': 60_000, '59m': 3_599_000, '23h': 86_399_000, '9d': 9 * 86_400_000 };
  for (const [text, ms] of Object.entries(cases)) expect(ago(at, now + ms)).toBe(text);
  expect(ago(at, now - 5_000)).toBe('0s');
  expect(ago(undefined, now)).toBe('');
});

test('long text is cut in the middle to just the length', () => {
  expect(shorten('short', 5)).toBe('short');
  expect(shorten('agent:main:telegram:dm:12345', 11)).toBe('agent…12345');
  expect([...shorten('😀'.repeat(40), 9)]).toHaveLength(9);
});

test('numbers are told as ranges', () => {
  expect(ranges([])).toBe('');
  expect(ranges([0, 1, 2, 3, 7, 9, 10])).toBe('0-3,7,9-10');
});

test('an id is told by its last letters, which are random', () => {
  expect(shortId('0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000')).toBe('ffff0000');
  expect(shortId(null)).toBe('');
});

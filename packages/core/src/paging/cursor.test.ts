import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeCursor, encodeCursor } from './cursor.ts';

const invalid = expect.objectContaining({ code: 'invalid_cursor' });
const ID = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const SHAPE = ['time', 'uuid', 'integer'] as const;
const PLACE = ['2026-01-01T00:00:00.123456Z', ID, '42'];

test('a cursor leads back to its place', () => {
  expect(decodeCursor('runs', encodeCursor('runs', PLACE), SHAPE)).toEqual(PLACE);
});

test('a cursor of another list or of another shape is refused', () => {
  const cursor = encodeCursor('runs', PLACE);
  expect(() => decodeCursor('sessions', cursor, SHAPE)).toThrow(invalid);
  expect(() => decodeCursor('runs', cursor, ['time', 'uuid'])).toThrow(invalid);
  expect(() => decodeCursor('runs', cursor, ['uuid', 'uuid', 'integer'])).toThrow(invalid);
});

test('a cursor that was cut or altered anywhere is refused', () => {
  for (const place of [[ID], [ID, ID], ['7'], ['42']]) {
    const shape = place.map((part) => (part === ID ? 'uuid' : 'integer'));
    const cursor = encodeCursor('runs', place);
    for (let i = 0; i < cursor.length; i++) {
      const altered = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1);
      expect(() => decodeCursor('runs', altered, shape)).toThrow(invalid);
      expect(() => decodeCursor('runs', cursor.slice(0, i), shape)).toThrow(invalid);
    }
  }
});

test('a place that could harm a statement is refused even with a true checksum', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const cursor = encodeCursor('runs', [`${ID}${text}x`]);
      expect(() => decodeCursor('runs', cursor, ['uuid'])).toThrow(invalid);
    }),
  );
});

test('any text that is no cursor is refused, never anything else', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(() => decodeCursor('runs', text, ['uuid'])).toThrow(invalid);
    }),
  );
});

import { expect, it } from 'vitest';
import { GrowingText } from './growing-text.ts';

const piece = (offset: number, text: string, attempt = 'a') => ({ attempt, part: 0, offset, text });

it('says each piece once, though pieces overlap or come twice', () => {
  const text = new GrowingText();
  const said = [piece(0, 'ab'), piece(0, 'ab'), piece(1, 'bc'), piece(3, 'd')].map((one) => text.add(one));
  expect(said).toEqual(['ab', '', 'c', 'd']);
  expect(text.rest('abcde')).toBe('e');
});

it('says nothing behind a gap, and then what is missing of the whole', () => {
  const text = new GrowingText();
  expect([piece(0, 'ab'), piece(4, 'ef'), piece(2, 'cd')].map((one) => text.add(one))).toEqual(['ab', '', '']);
  expect(text.rest('abcdef')).toBe('cdef');
});

it('goes on with another attempt where it says the same', () => {
  const text = new GrowingText();
  text.add(piece(0, 'one two'));
  const again = [piece(0, 'one', 'b'), piece(3, ' two th', 'b'), piece(10, 'ree', 'b')].map((one) => text.add(one));
  expect(again).toEqual(['', ' th', 'ree']);
  expect(text.rest('one two three')).toBe('');
});

it('says nothing of an attempt that says something else, and has no rest for it', () => {
  const text = new GrowingText();
  text.add(piece(0, 'one'));
  expect(text.add(piece(0, 'two three', 'b'))).toBe('');
  expect(text.rest('two three')).toBeNull();
});

it('has everything as its rest when no piece came', () => {
  expect(new GrowingText().rest('whole')).toBe('whole');
});

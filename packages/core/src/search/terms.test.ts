import fc from 'fast-check';
import { expect, test } from 'vitest';
import { searchTerms } from './terms.ts';

test('words and phrases are looked for, each once, whatever their case', () => {
  expect(searchTerms('Ship "Next  Tuesday" ship  now')).toEqual(['ship', 'next  tuesday', 'now']);
  expect(searchTerms('an "open end')).toEqual(['an', 'open', 'end']);
  expect(searchTerms('" " ""')).toEqual([]);
});

test('any text is a question of a few terms without blanks at their ends', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (question) => {
      const terms = searchTerms(question);
      expect(terms.length).toBeLessThanOrEqual(8);
      for (const term of terms) expect(term).not.toBe('');
    }),
  );
});

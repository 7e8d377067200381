import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanJson, cleanText } from './text.ts';

const none = () => ({ nul: 0, loneSurrogate: 0 });

describe('cleanText', () => {
  it('replaces and counts NUL and lone surrogates, and leaves pairs alone', () => {
    const repairs = none();
    expect(cleanText('a\u0000b\ud800c\udc00\u{1f600}\u0000', repairs)).toBe('a\ufffdb\ufffdc\ufffd\u{1f600}\ufffd');
    expect(repairs).toEqual({ nul: 2, loneSurrogate: 2 });
  });

  it('always leaves text that can be stored, of the same length', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '\u0000', '\ud83d', '\ude00', 'é') }), (text) => {
        const repairs = none();
        const clean = cleanText(text, repairs);
        expect(clean.isWellFormed() && !clean.includes('\u0000')).toBe(true);
        expect(clean).toHaveLength(text.length);
        expect(clean.split('\ufffd').length - 1).toBe(repairs.nul + repairs.loneSurrogate);
      }),
    );
  });
});

describe('cleanJson', () => {
  it('returns the same value when nothing is wrong', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        const repairs = none();
        expect(cleanJson(value, repairs)).toBe(value);
        expect(repairs).toEqual(none());
      }),
    );
  });

  it('reaches every text, names of fields included', () => {
    const repairs = none();
    const value = { ok: [1, { 'n\u0000': ['x\ud800', true, null] }] };
    expect(cleanJson(value, repairs)).toEqual({ ok: [1, { 'n\ufffd': ['x\ufffd', true, null] }] });
    expect(repairs).toEqual({ nul: 1, loneSurrogate: 1 });
  });

  it('refuses what is nested too deeply, however deeply', () => {
    const nested = (levels: number): unknown => JSON.parse(`${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`);
    expect(cleanJson(nested(100), none())).toEqual(nested(100));
    for (const levels of [102, 20_000]) {
      expect(() => cleanJson(nested(levels), none())).toThrow(expect.objectContaining({ code: 'invalid_field' }));
    }
  });
});

import { describe, expect, it } from 'vitest';
import { UnlessSilent } from './silence.ts';

function shown(parts: readonly string[], isSilent: boolean): { before: string[]; after: string[] } {
  const said: string[] = [];
  const words = new UnlessSilent((text) => said.push(text));
  for (const part of parts) words.add(part);
  const before = [...said];
  words.end({ isSilent });
  return { before, after: said.slice(before.length) };
}

describe('text that may become a silence marker', () => {
  it.each([
    ['[SI', 'LENT]'],
    ['NO', '_REPLY'],
    ['**no reply', '**'],
    ['静', '默。'],
  ])('is not shown: %s%s', (...parts) => {
    expect(shown(parts, true)).toEqual({ before: [], after: [] });
  });

  it('is shown as soon as it cannot become one any more, and what follows as it comes', () => {
    expect(shown(['No', ', I think', ' not'], false)).toEqual({ before: ['No, I think', ' not'], after: [] });
    expect(shown(['[SIL', 'LY] of you'], false)).toEqual({ before: ['[SILLY] of you'], after: [] });
  });

  it('is shown at the end when it was none after all', () => {
    expect(shown(['No', '.'], false)).toEqual({ before: [], after: ['No.'] });
  });
});

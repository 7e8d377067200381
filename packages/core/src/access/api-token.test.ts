import { describe, expect, it } from 'vitest';
import { hashApiToken, hashesEqual, makeApiToken, parseApiToken, TOKEN_RANDOM_BYTES } from './api-token.ts';
import { scopesOf } from './scopes.ts';

const secret = 'S'.repeat(32);

describe('parseApiToken', () => {
  it('reads tenant and operator tokens', () => {
    expect(parseApiToken(`tk_abcdefgh_${secret}`)).toMatchObject({ kind: 'tenant', keyId: 'abcdefgh' });
    expect(parseApiToken(`tkop_abcd1234_${secret}`)).toMatchObject({ kind: 'operator', keyId: 'abcd1234' });
  });

  it.each([
    '',
    `tk_short_${secret}`,
    `tk_abcdefgh_${secret.slice(1)}`,
    `tk_ABCDEFGH_${secret}`,
    `tk_abcdefgh_${secret}_`,
    `tk_abcdefgh_${secret}\n`,
    `sk_abcdefgh_${secret}`,
    `tk_${'a'.repeat(33)}_${secret}`,
    `tk_abcdefgh_${'S'.repeat(300)}`,
  ])('refuses %j', (text) => expect(parseApiToken(text)).toBeNull());

  it('reads what makeApiToken makes', () => {
    const bytes = Uint8Array.from({ length: TOKEN_RANDOM_BYTES }, (_, i) => i * 7);
    for (const kind of ['tenant', 'operator'] as const) {
      const made = makeApiToken(kind, bytes);
      expect(parseApiToken(made.token)).toEqual(made);
    }
  });
});

describe('hashApiToken', () => {
  it('differs by pepper, by kind and by id', () => {
    const hashes = [
      hashApiToken('pepper', `tk_abcdefgh_${secret}`),
      hashApiToken('other', `tk_abcdefgh_${secret}`),
      hashApiToken('pepper', `tkop_abcdefgh_${secret}`),
      hashApiToken('pepper', `tk_abcdefgi_${secret}`),
    ];
    for (const [i, a] of hashes.entries()) {
      for (const [j, b] of hashes.entries()) expect(hashesEqual(a, b)).toBe(i === j);
    }
  });
});

describe('scopesOf', () => {
  it('gives each preset what the surface says', () => {
    expect(scopesOf('sender')).toEqual(['messages:write', 'runs:read']);
    expect(scopesOf('viewer').every((scope) => scope.endsWith(':read'))).toBe(true);
    expect(scopesOf('owner')).toHaveLength(12);
    expect(scopesOf('developer')).toHaveLength(10);
    expect(scopesOf('developer')).not.toContain('keys:write');
  });
});

/** Bearer tokens: `tk_<keyId>_<secret>` of a tenant, `tkop_<keyId>_<secret>` of an operator (surface §2). */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';

export interface ApiToken {
  readonly kind: 'tenant' | 'operator';
  /** Names the row; not secret. */
  readonly keyId: string;
  /** The whole token, as it was sent. */
  readonly token: string;
}

/** Reads a token; null when the text has not its form. */
export function parseApiToken(text: string): ApiToken | null {
  const match = text.length > TOKEN_LENGTH_MAX ? null : TOKEN.exec(text);
  if (!match) return null;
  const [token, prefix = '', keyId = ''] = match;
  return { kind: prefix === 'tkop' ? 'operator' : 'tenant', keyId, token };
}

/** A new token of `TOKEN_RANDOM_BYTES` random bytes: 5 bits of each go into a letter, 16 letters name the key, 48 are secret. */
export function makeApiToken(kind: ApiToken['kind'], random: Uint8Array): ApiToken {
  const letters = Array.from(random, (byte) => LETTERS.charAt(byte % LETTERS.length)).join('');
  const keyId = letters.slice(0, KEY_ID_LENGTH);
  const prefix = kind === 'operator' ? 'tkop' : 'tk';
  return { kind, keyId, token: `${prefix}_${keyId}_${letters.slice(KEY_ID_LENGTH, TOKEN_RANDOM_BYTES)}` };
}

/** Random bytes that `makeApiToken` needs. */
export const TOKEN_RANDOM_BYTES = 64;

/** What is stored of a token: HMAC-SHA-256 of the whole of it, so that neither kind nor id can be exchanged. */
export function hashApiToken(pepper: string, token: string): Uint8Array {
  return hmac(sha256, utf8ToBytes(pepper), utf8ToBytes(token));
}

/** Compares in time that does not depend on where two hashes differ. */
export function hashesEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (const [i, byte] of a.entries()) difference |= byte ^ (b[i] ?? 0);
  return difference === 0;
}

const TOKEN = /^(tk|tkop)_([a-z0-9]{8,32})_[A-Za-z0-9]{32,}$/;
const TOKEN_LENGTH_MAX = 256;
/** 32 letters: a byte modulo 32 is as random as the byte. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';
const KEY_ID_LENGTH = 16;

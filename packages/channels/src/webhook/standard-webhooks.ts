/**
 * Signatures after standardwebhooks.com: `v1,` and the base64 of HMAC-SHA-256 over `<id>.<timestamp>.<body>`. The library of that
 * name reads its own clock and knows one tolerance only, so it serves as a witness in the tests.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const ENCODED_PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export interface SignedContent {
  readonly id: string;
  /** Seconds since 1970, as they stand in the header. */
  readonly timestamp: string;
  readonly body: string | Uint8Array;
}

/** The key behind a secret: `whsec_…` holds it in base64, any other text is the key itself. Null when that is no base64. */
export function keyOfSecret(secret: string): Uint8Array | null {
  if (!secret.startsWith(ENCODED_PREFIX)) return Buffer.from(secret, 'utf8');
  const encoded = secret.slice(ENCODED_PREFIX.length);
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : null;
}

export function signContent(key: Uint8Array, { id, timestamp, body }: SignedContent): string {
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return `v1,${mac}`;
}

/** Whether one of the space-separated signatures is right: while a sender changes its key there are several. */
export function isSignedBy(key: Uint8Array, content: SignedContent, signatures: string): boolean {
  const expected = Buffer.from(signContent(key, content));
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

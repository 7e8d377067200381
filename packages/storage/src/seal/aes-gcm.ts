import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM under a fresh random nonce: `1 | nonce | text | tag`. `context` must be the same to open it. */
export function encrypt(key: Uint8Array, plain: Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(FORMAT), nonce, text, cipher.getAuthTag()]);
}

/** @throws Error when key, context or bytes are not those it was made with */
export function decrypt(key: Uint8Array, sealed: Uint8Array, context: string): Uint8Array {
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const text = sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES);
  if (sealed[0] !== FORMAT || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new Error('not a sealed value');
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(text), decipher.final()]);
}

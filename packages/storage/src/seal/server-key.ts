import { AppError, type KeyWrap } from '@turnkeeper/core';
import { decrypt, encrypt } from './aes-gcm.ts';

const KEY_BYTES = 32;
const CONTEXT = 'turnkeeper data key';

/**
 * Wraps data keys with a key of the server's own, written as 64 hex digits or as base64 of 32 bytes.
 * @throws AppError `config_invalid` when the text is neither
 */
export function serverKeyWrap(masterKey: string): KeyWrap {
  const key = readKey(masterKey);
  return {
    wrap: async (dataKey) => encrypt(key, dataKey, CONTEXT),
    unwrap: async (wrapped) => {
      try {
        return decrypt(key, wrapped, CONTEXT);
      } catch (cause) {
        throw new AppError({
          code: 'secret_unresolved',
          message:
            "The tenant's secrets were sealed with another server key: give this process the key they were sealed with.",
          cause,
        });
      }
    },
  };
}

function readKey(text: string): Uint8Array {
  const bytes = Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64');
  if (bytes.length === KEY_BYTES) return bytes;
  throw new AppError({
    code: 'config_invalid',
    message: 'The master key must be 32 bytes: 64 hex digits, or base64 (for example from `openssl rand -base64 32`).',
  });
}

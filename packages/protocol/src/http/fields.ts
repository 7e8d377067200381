/** Parts that several request and answer schemas share. */
import { hasUserInfo, NAME_PATTERN } from '@turnkeeper/core';
import { z } from 'zod';

/** `default` is refused, so that it never becomes part of a session key; what looks like an id, because ids and names stand for each other. */
export const NameSchema = z
  .string()
  .regex(NAME_PATTERN, { error: 'a name is 1–63 of a-z, 0-9, _ and -, and begins with a letter or digit' })
  .refine((name) => name !== 'default' && !/^(ten|agt|acc|key)_[0-9a-z]{26}$/.test(name), {
    error: 'default, and what looks like an id, cannot be a name',
  });

/** Where something of a tenant is called. User info in it would be shown to everybody who may read the configuration. */
const HttpUrlSchema = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine((text) => !hasUserInfo(text), {
    params: { code: 'config_invalid' },
    error: 'no user or password in a URL, it would be shown in clear: use apiKey or secrets',
  });

/** What paths are put behind: a query or a fragment would come to stand in the middle. */
export const BaseUrlSchema = HttpUrlSchema.refine((text) => !/[?#]/.test(text), {
  params: { code: 'config_invalid' },
  error: 'no query in it, it would be shown in clear and never be sent: use apiKey',
});

/** A name or an id, as paths and bodies accept them. */
export const ReferenceSchema = z.string().min(1).max(64);

/** An instant, ISO 8601 in UTC. */
export const InstantSchema = z.iso.datetime();

/** Nothing below 0x20, no DEL: such characters in names and ids break logs, headers and terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this refuses
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Text that names something: an id of a platform, a key, a label. */
export function nameText(lengthMax: number): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((text) => !CONTROL.test(text) && text.isWellFormed(), { error: 'no control characters' });
}

/** What the reader of bodies writes for a character that no store can keep: two different keys could become one by it. */
const REPLACED = '\ufffd';

/** A `nameText` by which something is known again: nothing replaced in it, so that two ids never become one. */
export function idText(lengthMax: number): z.ZodString {
  return nameText(lengthMax).refine((text) => !text.includes(REPLACED), { error: 'no U+FFFD, NUL or lone surrogates' });
}

/** Bytes of a text in UTF-8; stops counting above `bytesMax`, so that a huge text costs nothing. */
export function utf8Fits(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  if (text.length * 3 <= bytesMax) return true;
  return new TextEncoder().encode(text).length <= bytesMax;
}

const SESSION_KEY_BYTES_MAX = 512;
/** Made once: building a schema costs more than all the rest of a request's checks. */
const KeyTextSchema = idText(SESSION_KEY_BYTES_MAX);
const KEY_RULE = 'a session key has 1 to 512 bytes and no control characters';

/** A key given by hand: 1–512 bytes, no control characters, nothing replaced. */
export const SessionKeySchema = z.string().check((context) => {
  const key = context.value;
  const isName = KeyTextSchema.safeParse(key).success;
  if (key === '' || !utf8Fits(key, SESSION_KEY_BYTES_MAX) || !isName) {
    context.issues.push({ code: 'custom', input: key, params: { code: 'malformed_key' }, message: KEY_RULE });
  }
});

/**
 * The key of a conversation as it stands in a path or a query: `~` and base64url (surface §1). It needs no escaping and is
 * never taken for an id.
 */
export function sessionSelector(sessionKey: string): string {
  const bytes = Array.from(new TextEncoder().encode(sessionKey), (byte) => String.fromCharCode(byte));
  return `~${btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** `{data, nextCursor, hasMore}`: every list is keyset-paged and its cursor is opaque. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ data: z.array(item), nextCursor: z.string().nullable(), hasMore: z.boolean() });
}

export const LIST_LIMIT_DEFAULT = 50;
const LIST_LIMIT_MAX = 200;

/** `limit` of a query string: digits, in range. */
export function limitParam(max: number = LIST_LIMIT_MAX) {
  const error = `must be a whole number, 1–${max}`;
  return z
    .string()
    .regex(/^[0-9]{1,4}$/, { error })
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= max, { error })
    .optional();
}

export const CursorParam = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,512}$/, { error: 'is no nextCursor of an answer' })
  .optional();

/** Lists without filters. */
export const PageQuerySchema = z.strictObject({ limit: limitParam(), cursor: CursorParam });

/** Routes that take no query at all. */
export const NoQuerySchema = z.strictObject({});

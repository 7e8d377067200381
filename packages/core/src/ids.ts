/** Identifiers. Inside the program an id is a plain UUID string, branded by what it names; outside it is prefix + base32. */
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { AppError } from './errors.ts';

type Brand<Name extends string> = string & { readonly __id: Name };

export type TenantId = Brand<'tenant'>;
export type AgentId = Brand<'agent'>;
export type AccountId = Brand<'account'>;
export type KeyRowId = Brand<'key'>;
export type LaneId = Brand<'lane'>;
/** A run and its event share one UUID: `evt_X` and `run_X`. */
export type EventId = Brand<'event'>;
export type TurnId = Brand<'turn'>;
export type SessionId = Brand<'session'>;
/** A message and its delivery share one UUID: `msg_X` and `dlv_X`. */
export type MessageId = Brand<'message'>;
export type BootId = Brand<'boot'>;
/** A question of a turn to a person. */
export type InputId = Brand<'input'>;
/** An uploaded file. */
export type AttachmentId = Brand<'attachment'>;

/** Where a lane's rows stand: every statement about a lane names all three. */
export interface LaneRef {
  readonly slot: number;
  readonly tenantId: TenantId;
  readonly laneId: LaneId;
}

export type IdPrefix =
  | 'ten'
  | 'agt'
  | 'acc'
  | 'key'
  | 'evt'
  | 'run'
  | 'trn'
  | 'ses'
  | 'msg'
  | 'dlv'
  | 'inp'
  | 'att'
  | 'whe';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE32_LENGTH = 26;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SEPARATOR = '\u001f';
const [HYPHEN, ZERO, NINE, LETTER_OFFSET] = [0x2d, 0x30, 0x39, 0x57];
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** 4096 slots, for ever (surface §1): a lane's slot is in its rows. */
export const SLOT_COUNT = 4096;

/** Writes a UUID as a public id: prefix, underscore, 26 characters of lower-case Crockford base32. */
export function formatId(prefix: IdPrefix, uuid: string): string {
  // 26 times 5 bits are two more than a UUID has: they stand in front, as zeros
  let [text, held, bits] = ['', 0, 2];
  for (let i = 0; i < uuid.length; i++) {
    const code = uuid.charCodeAt(i);
    if (code === HYPHEN) continue;
    held = (held << 4) | (code > NINE ? code - LETTER_OFFSET : code - ZERO);
    bits += 4;
    if (bits < 5) continue;
    bits -= 5;
    text += ALPHABET.charAt(held >> bits);
    held &= (1 << bits) - 1;
  }
  return `${prefix}_${text}`;
}

/** Reads a public id of one of these prefixes; `null` when the text is no such id. Never throws. */
export function parseId<T extends string>(text: string, ...prefixes: IdPrefix[]): T | null {
  const mark = text.indexOf('_');
  const body = text.slice(mark + 1);
  if (!prefixes.some((prefix) => prefix === text.slice(0, mark)) || body.length !== BASE32_LENGTH) return null;
  let value = 0n;
  for (const char of body) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return null;
    value = (value << 5n) | BigInt(digit);
  }
  if (value >> 128n !== 0n) return null;
  return uuidFromHex(value.toString(16).padStart(32, '0')) as T;
}

/** True for a lower-case UUID in its usual form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The lane's id: first 16 bytes of SHA-256(tenant id, agent id, key joined by U+001F), so that an event can be stored without reading its lane. */
export function laneIdOf(tenantId: TenantId, agentId: AgentId, sessionKey: string): LaneId {
  return digestId(tenantId, agentId, sessionKey) as LaneId;
}

/** A deterministic UUID of some texts: scopes of idempotency keys, idempotency keys of effects. */
export function digestId(...parts: string[]): string {
  return uuidFromHex(toHex(sha256(utf8ToBytes(parts.join(SEPARATOR))).subarray(0, 16)));
}

/** slot = first 4 bytes, big-endian, of SHA-256(tenant name, agent name, key joined by U+001F) mod 4096 (surface §1). */
export function slotOf(tenantName: string, agentName: string, sessionKey: string): number {
  const hash = sha256(utf8ToBytes([tenantName, agentName, sessionKey].join(SEPARATOR)));
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0, false) % SLOT_COUNT;
}

/** UUIDv7 of a moment (milliseconds since 1970) and 10 random bytes. */
export function uuidV7(atMs: number, random: Uint8Array): string {
  if (random.length < 10) throw new AppError({ code: 'internal', message: 'uuidV7 needs 10 random bytes' });
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, Math.floor(atMs / 0x10000), false);
  new DataView(bytes.buffer).setUint16(4, atMs % 0x10000, false);
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return uuidFromHex(toHex(bytes));
}

function uuidFromHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += HEX[byte];
  return hex;
}

import { utf8ToBytes } from '@noble/hashes/utils.js';
import { AppError, assertNever } from '../errors.ts';
import type { KeyPolicyConfig } from '../ports/configs.ts';
import type { Source } from '../ports/intake.ts';
import { type EchoPolicy, echoKey } from './echo.ts';
import { present } from './escape.ts';
import { type OpenclawPolicy, openclawKey } from './openclaw.ts';
import { isSharedLane, standardKey } from './standard.ts';
import type { LidMap } from './whatsapp.ts';

export interface KeyInput {
  readonly source: Source;
  readonly policy: KeyPolicyConfig;
  readonly agentName: string;
  /** For `dmScope: per-account-channel-peer`. */
  readonly accountName?: string | null;
  /** What is known about people with two WhatsApp ids. */
  readonly lidMap?: LidMap;
}

export interface SessionKey {
  readonly key: string;
  /** Several people speak in this lane. */
  readonly shared: boolean;
}

/** Longest session key, in bytes of UTF-8 (surface §1). */
const KEY_BYTES_MAX = 512;
const FIRST_AGENT = 'main';
const RESERVED_AGENT = 'default';
const NO_LIDS: LidMap = { forward: {}, reverse: {} };

/**
 * The session key of a message: always the same for the same source and policy (surface §1).
 * @throws AppError `malformed_key` when it would be longer than 512 bytes or cannot be stored; `invalid_field` for an
 *   agent named `default`, which the standard policy could not keep apart from `main`
 */
export function computeKey(input: KeyInput): SessionKey {
  if (input.agentName === RESERVED_AGENT) {
    throw new AppError({
      code: 'invalid_field',
      message: 'an agent cannot be named default',
      fields: [{ pointer: '/agent', code: 'invalid_field' }],
    });
  }
  const computed = byPolicy(input);
  if (isStorable(computed.key)) return computed;
  throw new AppError({
    code: 'malformed_key',
    message: `a session key has at most ${KEY_BYTES_MAX} bytes of UTF-8 text without NUL; this source would make another`,
  });
}

function isStorable(key: string): boolean {
  const fits = key.length * 3 <= KEY_BYTES_MAX || utf8ToBytes(key).length <= KEY_BYTES_MAX;
  return fits && key.isWellFormed() && !key.includes('\u0000');
}

function byPolicy({ source, policy, agentName, accountName, lidMap }: KeyInput): SessionKey {
  switch (policy.name) {
    case 'standard': {
      const profile = agentName === FIRST_AGENT ? null : agentName;
      const key = standardKey(source, { ...policy, profile }, lidMap ?? NO_LIDS);
      return { key, shared: isSharedLane(source, policy) };
    }
    case 'openclaw':
      return openclawOf(source, { ...policy, agentId: agentName, accountId: accountName ?? null });
    case 'echo':
      return echoOf(source, policy.scope);
    default:
      return assertNever(policy.name);
  }
}

function openclawOf(source: Source, agent: OpenclawPolicy & { agentId: string; accountId: string | null }): SessionKey {
  const isDirect = source.chatType === 'dm';
  const isForum = source.chatType === 'forum';
  const threadId = present(source.threadId);
  const key = openclawKey({
    ...agent,
    channel: source.platform,
    peerKind: isDirect ? 'direct' : source.chatType === 'channel' ? 'channel' : 'group',
    peerId: (isDirect ? senderOf(source) : null) ?? source.chatId ?? '',
    topicId: isForum ? threadId : null,
    threadId: isForum ? null : threadId,
  });
  return { key, shared: !isDirect };
}

function echoOf(source: Source, scope: EchoPolicy['scope']): SessionKey {
  const isGroup = source.chatType !== 'dm';
  const chat = { channel: source.platform, chatId: source.chatId ?? '', senderId: senderOf(source) ?? '' };
  const { key, scoped } = echoKey({ ...chat, isGroup, override: null, scope });
  return { key, shared: isGroup && !scoped };
}

function senderOf(source: Source): string | null {
  return present(source.userIdAlt) ?? present(source.userId);
}

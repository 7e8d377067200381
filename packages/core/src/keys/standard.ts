import type { Source } from '../ports/intake.ts';
import { escapeComponent, present } from './escape.ts';
import { canonicalWhatsapp, type LidMap } from './whatsapp.ts';

/** A source as the key rule reads it. `guildId` is the old name of `scopeId`. */
export type KeySource = Source & { readonly guildId?: string | null };

export interface StandardPolicy {
  /** In rooms each person has a lane of their own. Default true. */
  readonly groupSessionsPerUser: boolean;
  /** The same inside threads; without the one above it does nothing. Default false. */
  readonly threadSessionsPerUser: boolean;
}

export interface StandardConfig extends StandardPolicy {
  /** Null and `default` are the first agent; a profile that is itself named `main` is kept apart from it. */
  readonly profile: string | null;
}

const WHATSAPP_FAMILY = new Set(['whatsapp', 'whatsapp_cloud', 'waha']);

/**
 * The lane key of policy `standard`: `<ns>:<platform>:<type>[:<slack workspace>][:<chat id>]<tail>`, where the tail of
 * a DM is `[:participant][:thread]` and of everything else `[:thread][:participant]`. Every component is escaped; case
 * is kept. A key cannot be read back by position: keep the source beside it.
 */
export function standardKey(source: KeySource, config: StandardConfig, lidMap: LidMap): string {
  const { ns, type, chatId, thread, participant } = partsOf(source, config, lidMap);
  const scope = source.platform === 'slack' ? (present(source.scopeId) ?? present(source.guildId)) : null;
  const tail = isDm(source) ? [participant, thread] : [thread, participant];
  return ns + [source.platform, type, scope, chatId, ...tail].map(componentOf).join('');
}

/** Whether several people share the lane: never a DM, else exactly when the key names no participant. */
export function isSharedLane(source: KeySource, policy: StandardPolicy): boolean {
  return !isDm(source) && roomParticipant(source, policy) === null;
}

function partsOf(source: KeySource, config: StandardConfig, lidMap: LidMap) {
  const ns = `agent:${namespaceOf(config.profile)}`;
  const person = (id: string | null) => (id === null ? null : personOf(source.platform, id, lidMap));
  if (isDm(source)) {
    const chatId = person(present(source.chatId));
    // A DM that names its chat is keyed by it alone; the sender only stands in for a missing chat id.
    const participant = chatId === null ? person(senderOf(source)) : null;
    return { ns, type: source.chatType, chatId, thread: present(source.threadId), participant };
  }
  const thread = threadOf(source);
  const participant = person(roomParticipant(source, config));
  // A message that will be answered in a thread of its own gets the key that later messages in it will have.
  const type = thread !== null && present(source.threadId) === null ? 'thread' : source.chatType;
  return { ns, type, chatId: present(source.chatId), thread, participant };
}

function namespaceOf(profile: string | null): string {
  if (profile === null || profile === '' || profile === 'default') return 'main';
  return profile === 'main' ? 'main~' : escapeComponent(profile);
}

function isDm(source: KeySource): boolean {
  return source.chatType === 'dm';
}

function senderOf(source: KeySource): string | null {
  return present(source.userIdAlt) ?? present(source.userId);
}

function threadOf(source: KeySource): string | null {
  return present(source.threadId) ?? present(source.prospectiveThreadId);
}

function roomParticipant(source: KeySource, policy: StandardPolicy): string | null {
  const perUser = policy.groupSessionsPerUser && (threadOf(source) === null || policy.threadSessionsPerUser);
  return perUser ? senderOf(source) : null;
}

function personOf(platform: string, id: string, lidMap: LidMap): string {
  return WHATSAPP_FAMILY.has(platform) ? canonicalWhatsapp(id, lidMap) || id : id;
}

function componentOf(part: string | null): string {
  return part === null ? '' : `:${escapeComponent(part)}`;
}

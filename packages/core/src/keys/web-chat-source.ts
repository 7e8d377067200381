import type { AgentConfig, KeyPolicyConfig } from '../ports/configs.ts';
import type { Source } from '../ports/intake.ts';
import { computeKey } from './compute.ts';
import { webChatKey, webChatPlatform } from './web-chat.ts';

/** As `channel` in accounts and `platform` in sources. */
const PLATFORM = 'webchat';

/** A visitor's room as a source, and the key of its conversation. */
export interface WebChatSource {
  readonly source: Source;
  readonly sessionKey: string;
}

/** Of the room that only one visitor has: `u_<sub>`. */
export const OWN_ROOM = 'u_';

/**
 * Where what a visitor says in a room belongs. A room is a dm with the agent. Two policies would let visitors meet who share no room:
 * `echo` names web clients by their own rule (`gateway:…`), and `openclaw` with `dmScope: main` puts everybody's dms into one
 * conversation, which is meant for the owner's own devices: a visitor gets one per channel and person instead. There a person is
 * the room, written so that the policy's lower case and trimming change nothing (`foldProof`).
 * @throws AppError `malformed_key`
 */
export function webChatSource(of: {
  readonly room: string;
  readonly sub: string;
  readonly name: string | null;
  readonly agent: Pick<AgentConfig, 'name' | 'keyPolicy'>;
  readonly accountName: string | null;
}): WebChatSource {
  const { room, sub, name, agent, accountName } = of;
  const source = { platform: PLATFORM, chatType: 'dm', chatId: room, userId: sub, userName: name };
  const keyed = agent.keyPolicy.name === 'openclaw' ? { ...source, userId: personOf(room) } : source;
  const input = { source: keyed, policy: apart(agent.keyPolicy), agentName: agent.name, accountName };
  const computed = computeKey(input).key;
  if (agent.keyPolicy.name !== 'echo') return { source, sessionKey: computed };
  const named = { requested: null, platform: webChatPlatform(PLATFORM, []), chatId: room, allowFallback: true };
  return { source, sessionKey: webChatKey(named).key ?? computed };
}

function apart(policy: KeyPolicyConfig): KeyPolicyConfig {
  return policy.name === 'openclaw' && policy.dmScope === 'main' ? { ...policy, dmScope: 'per-channel-peer' } : policy;
}

/** A visitor's own room is its `sub`, every other one has a mark that no `sub` can have. */
function personOf(room: string): string {
  const isOwn = room.startsWith(OWN_ROOM) && room.length > OWN_ROOM.length;
  return isOwn ? foldProof(room.slice(OWN_ROOM.length)) : `~room~${foldProof(room)}`;
}

/**
 * The text without anything that lower case or trimming would change, so that no two texts become one: capitals of ASCII
 * as `^` and their small letter, other such characters, blanks and both marks as `~<hex>~`.
 */
function foldProof(text: string): string {
  return [...text].map(foldProofCharacter).join('');
}

function foldProofCharacter(character: string): string {
  if (/^[A-Z]$/.test(character)) return `^${character.toLowerCase()}`;
  const isFoldProof = character.toLowerCase() === character && character.trim() !== '' && !/[\^~]/.test(character);
  return isFoldProof ? character : `~${character.codePointAt(0)?.toString(16)}~`;
}

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

/**
 * Where what a visitor says in a room belongs. A room is a dm with the agent. Two policies would let visitors meet who share no room:
 * `echo` names web clients by their own rule (`gateway:…`), and `openclaw` with `dmScope: main` puts everybody's dms into one
 * conversation, which is meant for the owner's own devices: a visitor gets one per channel and person instead.
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
  const computed = computeKey({ source, policy: apart(agent.keyPolicy), agentName: agent.name, accountName }).key;
  if (agent.keyPolicy.name !== 'echo') return { source, sessionKey: computed };
  const named = { requested: null, platform: webChatPlatform(PLATFORM, []), chatId: room, allowFallback: true };
  return { source, sessionKey: webChatKey(named).key ?? computed };
}

function apart(policy: KeyPolicyConfig): KeyPolicyConfig {
  return policy.name === 'openclaw' && policy.dmScope === 'main' ? { ...policy, dmScope: 'per-channel-peer' } : policy;
}

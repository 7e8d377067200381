import { normalizeId, openclawKey } from '../keys/openclaw.ts';

export interface AgentBinding {
  readonly agentId: string;
  readonly channel: string;
  /** `*`: any; null: the account `default`. */
  readonly accountId: string | null;
  readonly peer: { readonly kind: 'direct' | 'dm' | 'group' | 'channel'; readonly id: string } | null;
  readonly guildId: string | null;
}

export interface AgentRouteQuestion {
  readonly defaultAgent: string;
  readonly guildId: string | null;
  readonly bindings: readonly AgentBinding[];
  readonly peer: { readonly kind: 'channel' | 'direct' | 'group'; readonly id: string };
  readonly channel: string;
  readonly accountId: string | null;
}

/** Which agent answers a peer: the first binding that names the peer, then its guild, the account, the channel; else the default one. */
export function routeAgent(question: AgentRouteQuestion) {
  const { peer, defaultAgent } = question;
  const channel = question.channel.trim().toLowerCase();
  const accountId = normalizeId('account', question.accountId);
  const found = bindingFor({ ...question, channel, accountId });
  const agentId = normalizeId('agent', found?.binding.agentId ?? defaultAgent);
  const room = { channel, accountId, peerKind: peer.kind, peerId: peer.id, topicId: null, threadId: null };
  const sessionKey = openclawKey({ agentId, ...room, dmScope: 'main', mainKey: 'main', identityLinks: {} });
  const lastRoutePolicy = sessionKey === `agent:${agentId}:main` ? 'main' : 'session';
  return { agentId, accountId, matchedBy: found?.by ?? 'default', sessionKey, lastRoutePolicy };
}

function bindingFor({ bindings, channel, accountId, peer, guildId }: AgentRouteQuestion) {
  const candidates = bindings.filter(
    (binding) =>
      binding.channel.trim().toLowerCase() === channel &&
      (binding.accountId === '*' || normalizeId('account', binding.accountId) === accountId) &&
      (binding.peer === null || (roomOf(binding.peer.kind) === roomOf(peer.kind) && binding.peer.id === peer.id)) &&
      (binding.guildId === null || binding.guildId === guildId),
  );
  const first = (which: (binding: AgentBinding) => boolean) => candidates.find(which);
  const tiers = [
    { by: 'binding.peer', binding: first((binding) => binding.peer !== null) },
    { by: 'binding.guild', binding: first((binding) => binding.guildId !== null) },
    { by: 'binding.account', binding: first((binding) => binding.accountId !== '*') },
    { by: 'binding.channel', binding: first(() => true) },
  ] as const;
  for (const { by, binding } of tiers) if (binding !== undefined) return { by, binding };
  return null;
}

/** Groups and channels are rooms alike; `dm` is another word for direct. */
function roomOf(kind: 'direct' | 'dm' | 'group' | 'channel'): 'direct' | 'room' {
  return kind === 'direct' || kind === 'dm' ? 'direct' : 'room';
}

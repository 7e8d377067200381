import { escapeComponent, lowerComponent } from './escape.ts';

export type DmScope = 'main' | 'per-peer' | 'per-channel-peer' | 'per-account-channel-peer';

export interface OpenclawPolicy {
  /** How far direct messages are kept apart. Default `main`: all of an agent's share one lane. */
  readonly dmScope: DmScope;
  /** Name of the lane that `dmScope: main` means. Default `main`. */
  readonly mainKey: string;
  /** Canonical name → ids (`<peer>` or `<channel>:<peer>`) that are one person. */
  readonly identityLinks: Readonly<Record<string, readonly string[]>>;
}

export interface OpenclawInput extends OpenclawPolicy {
  readonly agentId: string;
  readonly channel: string;
  readonly accountId: string | null;
  readonly peerKind: 'direct' | 'group' | 'channel';
  readonly peerId: string;
  readonly topicId: string | null;
  readonly threadId: string | null;
}

export interface SystemSource {
  readonly agentId: string;
  readonly kind: 'cron' | 'hook' | 'node' | 'subagent';
  readonly id: string;
  /** Only of cron: one run of the job. */
  readonly runId: string | null;
}

const ID_LENGTH_MAX = 64;
const VALID_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

/** The lane key of policy `openclaw`. Components are trimmed, lower-cased, then escaped. */
export function openclawKey(input: OpenclawInput): string {
  const agent = `agent:${normalizeId('agent', input.agentId)}`;
  const channel = lowerComponent(input.channel, 'unknown');
  if (input.peerKind !== 'direct') {
    const room = `${agent}:${channel}:${input.peerKind}:${lowerComponent(input.peerId, 'unknown')}`;
    return room + suffixOf('topic', input.topicId) + suffixOf('thread', input.threadId);
  }
  const peer = linkedPeer(input);
  if (input.dmScope === 'main' || peer === '') return `${agent}:${lowerComponent(input.mainKey, 'main')}`;
  if (input.dmScope === 'per-peer') return `${agent}:direct:${peer}`;
  if (input.dmScope === 'per-channel-peer') return `${agent}:${channel}:direct:${peer}`;
  return `${agent}:${channel}:${normalizeId('account', input.accountId)}:direct:${peer}`;
}

/** Key of an internal source: `cron:<id>[:run:<runId>]`, `hook:<id>`, `node-<id>`, `subagent:<id>` behind its agent. */
export function systemKey({ agentId, kind, id, runId }: SystemSource): string {
  const name = kind === 'node' ? `node-${lowerComponent(id)}` : `${kind}:${lowerComponent(id)}`;
  return `agent:${normalizeId('agent', agentId)}:${name}${kind === 'cron' ? suffixOf('run', runId) : ''}`;
}

/** Key of a thread below a base key. A blank thread has no parent; without the suffix only the parent is kept. */
export function threadKey(input: {
  readonly baseKey: string;
  readonly threadId: string;
  readonly parentKey: string;
  readonly useSuffix: boolean;
}): { key: string; parentKey: string | null } {
  const suffix = suffixOf('thread', input.threadId);
  if (suffix === '') return { key: input.baseKey, parentKey: null };
  return { key: input.baseKey + (input.useSuffix ? suffix : ''), parentKey: input.parentKey };
}

/** An agent's or account's id as keys hold it: at most 64 of `[a-z0-9_-]`; `main` or `default` when nothing is left. */
export function normalizeId(kind: 'agent' | 'account', value: string | null): string {
  const trimmed = (value ?? '').trim();
  if (VALID_ID.test(trimmed)) return trimmed.toLowerCase();
  const cleaned = trimmed
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return cleaned.slice(0, ID_LENGTH_MAX) || (kind === 'agent' ? 'main' : 'default');
}

/** The peer's component, or its canonical name when the links know it. */
function linkedPeer({ channel, peerId, identityLinks }: OpenclawInput): string {
  const peer = peerId.trim().toLowerCase();
  if (peer === '') return '';
  const names = [peer, `${channel.trim().toLowerCase()}:${peer}`];
  for (const [name, ids] of Object.entries(identityLinks)) {
    const canonical = lowerComponent(name);
    if (canonical !== '' && ids.some((id) => names.includes(id.trim().toLowerCase()))) return canonical;
  }
  return escapeComponent(peer);
}

function suffixOf(kind: string, id: string | null): string {
  const component = lowerComponent(id);
  return component === '' ? '' : `:${kind}:${component}`;
}

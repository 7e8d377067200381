import { lowerKey } from './escape.ts';

export interface ParsedKey {
  readonly shape: 'missing' | 'agent' | 'malformed_agent' | 'legacy_or_alias';
  readonly agentId: string | null;
  readonly rest: string | null;
  readonly isSubagent: boolean;
  readonly subagentDepth: number;
  readonly isCron: boolean;
  readonly isCronRun: boolean;
  readonly chatType: 'group' | 'channel' | 'direct' | 'unknown';
  /** Text before the last `:thread:` or `:topic:`. */
  readonly threadParent: string | null;
  readonly isSessionIdLike: boolean;
  /** Worth trying as a session's id: not blank and not shaped like a key. */
  readonly resolveAsSessionId: boolean;
}

const UUID_LIKE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const CRON_RUN = /^cron:[^:]+:run:[^:]+$/;
const KEY_SHAPED = /^(main$|global$|unknown$|agent:|cron:|hook:|node-|node:|acp:)|:(group|channel):/;

/** Reads a key of the openclaw policy. */
export function parseKey(text: string): ParsedKey {
  const key = lowerKey(text);
  const parsed = agentKeyOf(key);
  const remainder = parsed?.rest ?? key;
  const segments = segmentsOf(remainder);
  const isSubagent = remainder.startsWith('subagent:');
  return {
    shape: shapeOf(key, parsed !== null),
    agentId: parsed?.agentId ?? null,
    rest: parsed?.rest ?? null,
    isSubagent,
    subagentDepth: isSubagent ? segments.filter((segment) => segment === 'subagent').length : 0,
    isCron: parsed?.rest.startsWith('cron:') ?? false,
    isCronRun: CRON_RUN.test(parsed?.rest ?? ''),
    chatType: chatTypeOf(segments),
    threadParent: threadParentOf(key),
    isSessionIdLike: UUID_LIKE.test(key),
    resolveAsSessionId: key !== '' && !KEY_SHAPED.test(key),
  };
}

/** The agent and the rest of a lower-case key; null when it is no agent key. Empty segments are ignored. */
export function agentKeyOf(key: string): { agentId: string; rest: string } | null {
  const [head, agent, ...rest] = segmentsOf(key);
  const agentId = agent?.trim() ?? '';
  return head === 'agent' && agentId !== '' && rest.length > 0 ? { agentId, rest: rest.join(':') } : null;
}

function segmentsOf(key: string): string[] {
  return key.split(':').filter((segment) => segment !== '');
}

function shapeOf(key: string, isAgentKey: boolean): ParsedKey['shape'] {
  if (key === '') return 'missing';
  if (isAgentKey) return 'agent';
  return key.startsWith('agent:') ? 'malformed_agent' : 'legacy_or_alias';
}

function chatTypeOf(segments: readonly string[]): ParsedKey['chatType'] {
  if (segments.includes('group')) return 'group';
  if (segments.includes('channel')) return 'channel';
  return segments.includes('direct') || segments.includes('dm') ? 'direct' : 'unknown';
}

function threadParentOf(key: string): string | null {
  const end = Math.max(key.lastIndexOf(':thread:'), key.lastIndexOf(':topic:'));
  return end > 0 ? key.slice(0, end) : null;
}

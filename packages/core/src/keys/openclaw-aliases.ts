import { lowerComponent, lowerKey } from './escape.ts';
import { normalizeId } from './openclaw.ts';
import { agentKeyOf } from './parse.ts';

export interface AliasScope {
  readonly mainKey: string;
  /** `global`: one session for all; every alias of main is then `global`. */
  readonly scope: 'global' | 'per-sender';
}

/** How a key is called inside and towards people: both sides say `main`, the store says the alias. */
export function keyAlias(key: string, scope: AliasScope): { alias: string; internal: string; display: string } {
  const alias = scope.scope === 'global' ? 'global' : mainKeyOf(scope);
  const lower = lowerKey(key);
  const internal = lower === 'main' ? alias : lower;
  return { alias, internal, display: internal === alias ? 'main' : internal };
}

/** The form in which a key is stored: under its agent, else under the default one, always lower case. */
export function storeKey(key: string, scope: AliasScope & { readonly defaultAgent: string }): string {
  const lower = lowerKey(key);
  if (lower === '' || lower === 'global' || lower === 'unknown') return lower;
  const parsed = agentKeyOf(lower);
  if (parsed === null && lower.startsWith('agent:')) return lower;
  const mainKey = mainKeyOf(scope);
  const rest = parsed?.rest ?? lower;
  const isMain = rest === 'main' || rest === mainKey;
  if (isMain && scope.scope === 'global') return 'global';
  const agent = normalizeId('agent', parsed?.agentId ?? scope.defaultAgent);
  if (isMain) return `agent:${agent}:${mainKey}`;
  return parsed === null ? `agent:${agent}:${lower}` : lower;
}

function mainKeyOf({ mainKey }: AliasScope): string {
  return lowerComponent(mainKey, 'main');
}

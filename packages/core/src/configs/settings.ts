/** What people configure, as it is stored: the objects of surface §6 with every default filled in, without secrets. */
import type { AgentRuntimeConfig, AgentTool, KeyPolicyConfig, TenantLimits } from '../ports/configs.ts';
import type { ResetSettings } from '../routing/reset-policy.ts';
import { LOOP_DEFAULTS, type LoopLimits } from '../session/loop-budget.ts';

type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** A key policy as it may be written: its name, or the name and what differs from the defaults. */
export type KeyPolicySettings = KeyPolicyConfig['name'] | (Pick<KeyPolicyConfig, 'name'> & Optional<KeyPolicyConfig>);

export interface EchoSettings {
  readonly delayMs: number;
  readonly fail: number;
  readonly wordMs: number;
}

export interface OpenAiSettings {
  readonly baseUrl: string;
  readonly model: string;
  /** What its model may call; absent = nothing. */
  readonly tools?: readonly AgentTool[] | undefined;
  /** It is given the pictures of messages; absent = it is told of them. */
  readonly images?: boolean | undefined;
}

/** How long a turn may take; what is left out is the worker's own limit, which none may exceed. */
export interface TurnLimitSettings {
  readonly turnMs?: number | undefined;
  /** Without a sign of life. */
  readonly inactiveMs?: number | undefined;
}

/** What becomes of turns that are interrupted; what is left out is `RECOVERY_DEFAULTS`. */
export interface ResumeSettings {
  readonly freshnessMs?: number | undefined;
  readonly resumesMax?: number | undefined;
  readonly failuresMax?: number | undefined;
}

/** When loops without a person stop; what is left out is `LOOP_DEFAULTS`. */
export interface LoopSettings {
  readonly botTurnsMax?: number | undefined;
  readonly botWindowMs?: number | undefined;
  readonly hopsMax?: number | undefined;
}

/** An agent as people write it. Exactly the block that `runtime` names stands beside it. */
export interface AgentSettings {
  readonly runtime: 'echo' | 'openai';
  readonly echo?: Optional<EchoSettings> | undefined;
  readonly openai?: OpenAiSettings | undefined;
  readonly system?: string | undefined;
  readonly keyPolicy?: KeyPolicySettings | undefined;
  readonly busy?: { readonly mode?: 'queue' | undefined } | undefined;
  readonly limits?: TurnLimitSettings | undefined;
  readonly resume?: ResumeSettings | undefined;
  readonly loops?: LoopSettings | undefined;
  readonly reset?: ResetSettings | undefined;
  readonly resetByType?: Readonly<Record<string, ResetSettings>> | undefined;
  readonly resetByChannel?: Readonly<Record<string, ResetSettings>> | undefined;
}

/** An agent as a version keeps it. */
export interface StoredAgent {
  readonly runtime: 'echo' | 'openai';
  readonly echo?: EchoSettings;
  readonly openai?: OpenAiSettings;
  readonly system?: string;
  readonly keyPolicy: KeyPolicySettings;
  readonly busy: { readonly mode: 'queue' };
  readonly limits?: TurnLimitSettings;
  readonly resume?: ResumeSettings;
  readonly loops?: LoopSettings;
  readonly reset?: ResetSettings;
  readonly resetByType?: Readonly<Record<string, ResetSettings>>;
  readonly resetByChannel?: Readonly<Record<string, ResetSettings>>;
}

/** An account as a version keeps it. `agentId` is a UUID. */
export interface StoredAccount {
  readonly agentId: string;
  readonly channel: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Fills in what was left out. */
export function completeAgent(settings: AgentSettings): StoredAgent {
  const { runtime, echo, openai, system, keyPolicy, busy, limits, resume } = settings;
  const { loops, reset, resetByType, resetByChannel } = settings;
  return {
    runtime,
    ...(runtime === 'echo' && {
      echo: { delayMs: echo?.delayMs ?? 0, fail: echo?.fail ?? 0, wordMs: echo?.wordMs ?? 0 },
    }),
    ...(runtime === 'openai' && openai && { openai: completeOpenAi(openai) }),
    ...(system !== undefined && { system }),
    keyPolicy: keyPolicy ?? 'standard',
    busy: { mode: busy?.mode ?? 'queue' },
    ...(limits !== undefined && { limits }),
    ...(resume !== undefined && { resume }),
    ...(loops !== undefined && { loops }),
    ...(reset !== undefined && { reset }),
    ...(resetByType !== undefined && { resetByType }),
    ...(resetByChannel !== undefined && { resetByChannel }),
  };
}

function completeOpenAi({ baseUrl, model, tools = [], images = false }: OpenAiSettings): OpenAiSettings {
  return { baseUrl, model, ...(tools.length > 0 && { tools: [...new Set(tools)] }), ...(images && { images }) };
}

/** May time end conversations of this agent? */
export function hasResets({ reset, resetByType = {}, resetByChannel = {} }: StoredAgent): boolean {
  const policies = [reset, ...Object.values(resetByType), ...Object.values(resetByChannel)];
  return policies.some((policy) => policy !== undefined && policy.mode !== 'none');
}

/** Limits as people write them. Null takes one back. */
type RetentionLimit = 'retentionDays' | 'laneDays' | 'lanes';
type LimitSettings = Optional<Omit<TenantLimits, RetentionLimit>> & {
  readonly [Name in RetentionLimit]?: number | null | undefined;
};

/** Fills in the limits that were left out (surface §6). */
export function completeLimits(limits: LimitSettings): TenantLimits {
  return {
    ratePerSecond: limits.ratePerSecond ?? null,
    burst: limits.burst ?? null,
    turnSlots: limits.turnSlots ?? 100,
    queuedPerLane: limits.queuedPerLane ?? 100,
    queuedPerTenant: limits.queuedPerTenant ?? 10_000,
    ...(limits.retentionDays != null && { retentionDays: limits.retentionDays }),
    ...(limits.laneDays != null && { laneDays: limits.laneDays }),
    ...(limits.lanes != null && { lanes: limits.lanes }),
  };
}

/** A key policy with every default. */
export function completeKeyPolicy(settings: KeyPolicySettings): KeyPolicyConfig {
  const given = typeof settings === 'string' ? { name: settings } : settings;
  return {
    name: given.name,
    groupSessionsPerUser: given.groupSessionsPerUser ?? true,
    threadSessionsPerUser: given.threadSessionsPerUser ?? false,
    dmScope: given.dmScope ?? 'main',
    mainKey: given.mainKey ?? 'main',
    identityLinks: given.identityLinks ?? {},
    scope: given.scope ?? 'per_user',
  };
}

/** The budgets of a stored agent's loops. */
export function loopsOf({ loops = {} }: StoredAgent): LoopLimits {
  return {
    botTurnsMax: loops.botTurnsMax ?? LOOP_DEFAULTS.botTurnsMax,
    botWindowMs: loops.botWindowMs ?? LOOP_DEFAULTS.botWindowMs,
    hopsMax: loops.hopsMax ?? LOOP_DEFAULTS.hopsMax,
  };
}

/** How a stored agent runs. */
export function runtimeOf(agent: StoredAgent): AgentRuntimeConfig {
  if (agent.runtime === 'openai' && agent.openai)
    return { kind: 'openai', ...agent.openai, tools: agent.openai.tools ?? [], images: agent.openai.images ?? false };
  return { kind: 'echo', delayMs: 0, fail: 0, wordMs: 0, ...agent.echo };
}

import type { AccountId, AgentId, KeyRowId, TenantId } from '../ids.ts';

import type { ResetSettings } from '../routing/reset-policy.ts';
import type { LoopLimits } from '../session/loop-budget.ts';

/** Which conversation a message belongs to, per agent (surface §6), every default filled in. */
export interface KeyPolicyConfig {
  readonly name: 'standard' | 'openclaw' | 'echo';
  readonly groupSessionsPerUser: boolean;
  readonly threadSessionsPerUser: boolean;
  readonly dmScope: 'main' | 'per-peer' | 'per-channel-peer' | 'per-account-channel-peer';
  readonly mainKey: string;
  readonly identityLinks: Readonly<Record<string, readonly string[]>>;
  readonly scope: 'per_user' | 'shared';
}

/** What a tenant may use at most. Null = no limit. */
export interface TenantLimits {
  readonly ratePerSecond: number | null;
  /** Requests above the rate that may come at once; null = as many as `ratePerSecond`. */
  readonly burst: number | null;
  readonly turnSlots: number;
  readonly queuedPerLane: number;
  readonly queuedPerTenant: number;
  /** How long what was said is kept, days; absent: as long as the cluster keeps it. */
  readonly retentionDays?: number;
  /** For how many days without a word a conversation keeps its session; zero: for ever; absent: the cluster's days. */
  readonly laneDays?: number;
  /** Conversations that keep their session; the oldest lose it first. Absent: no limit. */
  readonly lanes?: number;
}

export interface TenantConfig {
  readonly tenantId: TenantId;
  readonly name: string;
  /** Anything but `active` is answered 403 `tenant_suspended`, and no turn starts; turns that run end as they would. */
  readonly status: 'active' | 'suspended' | 'deleting';
  readonly limits: TenantLimits;
  readonly timeZone: string;
}

export type AgentRuntimeConfig =
  /** Replies the text unchanged: after `delayMs`, word by word with `wordMs` between, the first `fail` tries of each turn throw. */
  | { readonly kind: 'echo'; readonly delayMs: number; readonly fail: number; readonly wordMs: number }
  /** An OpenAI-compatible endpoint; its key is the secret `apiKey`, `tools` are what its model may call, `images`: it takes pictures. */
  | {
      readonly kind: 'openai';
      readonly baseUrl: string;
      readonly model: string;
      readonly tools: readonly AgentTool[];
      readonly images: boolean;
    };

/** Tools that a model may be given. `ask_person`: it asks a person, and goes on with the answer. */
export const AGENT_TOOLS = ['ask_person'] as const;
export type AgentTool = (typeof AGENT_TOOLS)[number];

/** Values of an immutable version that are sealed at rest. */
export interface SealedValues {
  /** Unseals one value; null when this version has none of that name. @throws AppError `secret_unresolved` when the server's key cannot open it */
  secret(name: string): Promise<string | null>;
}

/** One immutable version of an agent: the one its pointer named when it was read. */
export interface AgentConfig extends SealedValues {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly agentId: AgentId;
  readonly name: string;
  readonly version: number;
  readonly keyPolicy: KeyPolicyConfig;
  readonly busyMode: 'queue';
  /** When time ends its conversations; null: never. The policy of the platform counts before that of the chat type. */
  readonly reset: ResetSettings | null;
  readonly resetByType: Readonly<Record<string, ResetSettings>>;
  readonly resetByChannel: Readonly<Record<string, ResetSettings>>;
  readonly system: string | null;
  /** Of its turns, milliseconds; null = the worker's own limit, which none may exceed. */
  readonly turnMsMax: number | null;
  readonly inactiveMsMax: number | null;
  /** How old an interruption may be for the agent to be told of it, milliseconds; 0 = however old. */
  readonly freshnessMs: number;
  readonly loops: LoopLimits;
  readonly runtime: AgentRuntimeConfig;
}

/** One immutable version of an account. `options` were validated by the account's channel when they were stored. */
export interface AccountConfig extends SealedValues {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly accountId: AccountId;
  readonly name: string;
  readonly version: number;
  readonly agentId: AgentId;
  readonly channel: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A row behind a bearer token. `hash` = HMAC-SHA-256 of the whole token under the server's pepper. */
export interface KeyRecord {
  readonly id: KeyRowId;
  readonly keyId: string;
  /** Null for an operator key. */
  readonly tenantId: TenantId | null;
  readonly hash: Uint8Array;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/**
 * Configuration as processes read it. What `get`, `byName` and `locate` answer may be up to 5 s old, never older; a thing that is missing, deleted
 * or another tenant's is null, alike, and is looked up again each time, so that a new one works at once.
 */
export interface TenantConfigs {
  /** @throws StoreError */
  get(tenantId: TenantId): Promise<TenantConfig | null>;
  /** @throws StoreError */
  byName(name: string): Promise<TenantConfig | null>;
}

export interface AgentConfigs {
  /** @throws StoreError */
  get(tenantId: TenantId, agentId: AgentId): Promise<AgentConfig | null>;
  /** @throws StoreError */
  byName(tenantId: TenantId, name: string): Promise<AgentConfig | null>;
}

export interface AccountConfigs {
  /** @throws StoreError */
  get(tenantId: TenantId, accountId: AccountId): Promise<AccountConfig | null>;
  /** @throws StoreError */
  byName(tenantId: TenantId, name: string): Promise<AccountConfig | null>;
  /** Whose account it is, for a webhook that names nothing else. @throws StoreError */
  locate(accountId: AccountId): Promise<TenantId | null>;
}

export interface KeyLookup {
  /** By the `keyId` in the token; `kind` by its prefix (`tk_` or `tkop_`). Revoked and expired rows are found: the caller tells them apart. @throws StoreError */
  find(kind: 'tenant' | 'operator', keyId: string): Promise<KeyRecord | null>;
  /** A request was let in by this key: its `lastUsedAt` moves, at most once a minute. Never throws, never waits. */
  noteUse(record: KeyRecord): void;
}

/** What only web chat asks of accounts. As old as other configuration may be. */
export interface WebChatAccounts {
  /** The agent's oldest web chat account; null when it has none. @throws StoreError */
  ofAgent(tenantId: TenantId, agentId: AgentId): Promise<AccountConfig | null>;
  /** Some web chat account, of whatever tenant, lets pages of this origin in. @throws StoreError */
  knowsOrigin(origin: string): Promise<boolean>;
}

import {
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  type AgentConfig,
  type AgentConfigs,
  type AgentId,
  type Clock,
  completeKeyPolicy,
  FreshCache,
  type KeyLookup,
  type KeyRecord,
  loopsOf,
  MissGate,
  RECOVERY_DEFAULTS,
  runtimeOf,
  type TenantConfig,
  type TenantConfigs,
  type TenantId,
  type WebChatAccounts,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import type { Sealing, Secrets } from '../seal/sealing.ts';
import { ConfigRows } from './config-rows.ts';

export interface ConfigsOptions {
  /** On the role `tk_lookup`, with more than two connections. */
  readonly database: Database;
  readonly sealing: Sealing;
  readonly clock: Clock;
  /** Entries of each cache; the least recently used go. Default 20,000. */
  readonly entriesMax?: number;
  /** Told when noting a key's use failed. */
  readonly onError?: (error: unknown) => void;
}

export interface Configs {
  readonly tenants: TenantConfigs;
  readonly agents: AgentConfigs;
  readonly accounts: AccountConfigs;
  readonly keys: KeyLookup;
  readonly webChats: WebChatAccounts;
}

/** Nothing that a process serves by is older: with what open streams wait between two looks it stays below 5 s. */
export const CONFIG_STALE_MS = 2_500;
const MISSING_MS = 1_000;
const ENTRIES_MAX = 20_000;
/** Pools have more connections than this: what is known is read on the others. */
const MISSES_MAX = 2;
const MISSES_WAITING_MAX = 5_000;
const MISS_WAIT_MS = 2_000;
const NOTE_EVERY_MS = 60_000;

/**
 * Configuration for processes that serve: read through caches, at most 2.5 s old, each bounded. What does not exist is
 * remembered for a second, and names that are not known here take two connections at most, so that whoever makes
 * names up does not keep the known from being read again.
 */
export function openConfigs(options: ConfigsOptions): Configs {
  const rows = new ConfigRows(options.database);
  const { clock, entriesMax = ENTRIES_MAX } = options;
  const gate = { runningMax: MISSES_MAX, waitingMax: MISSES_WAITING_MAX, waitMs: MISS_WAIT_MS };
  const missGate = new MissGate({ clock, ...gate });
  const cache = <Key extends string, Value>(load: (key: Key) => Promise<Value | null>) =>
    new FreshCache<Key, Value>({
      clock,
      staleMs: CONFIG_STALE_MS,
      missingMs: MISSING_MS,
      entriesMax,
      missGate,
      load,
    });
  const accounts = cachedAccounts(rows, cache, options.sealing);
  return {
    tenants: cachedTenants(rows, cache),
    agents: cachedAgents(rows, cache, options.sealing),
    accounts,
    keys: cachedKeys(rows, cache, options),
    webChats: cachedWebChats(rows, cache, accounts),
  };
}

type CacheOf = <Key extends string, Value>(load: (key: Key) => Promise<Value | null>) => FreshCache<Key, Value>;
type Pair<Id extends string> = `${TenantId}/${Id}`;

function cachedTenants(rows: ConfigRows, cache: CacheOf): TenantConfigs {
  const byId = cache<TenantId, TenantConfig>((tenantId) => rows.tenant('id', tenantId));
  const byName = cache<string, TenantConfig>((name) => rows.tenant('name', name));
  return { get: (tenantId) => byId.get(tenantId), byName: (name) => byName.get(name) };
}

function cachedAgents(rows: ConfigRows, cache: CacheOf, sealing: Sealing): AgentConfigs {
  const ids = cache<Pair<string>, AgentId>((pair) => rows.agentId(...parts<string>(pair)));
  const byId = cache<Pair<AgentId>, AgentConfig>(async (pair) => {
    const [tenantId, agentId] = parts<AgentId>(pair);
    const row = await rows.agent(tenantId, agentId);
    if (row === null) return null;
    return {
      tenantId,
      tenantName: row.tenant_name,
      agentId,
      name: row.name,
      version: row.version,
      keyPolicy: completeKeyPolicy(row.config.keyPolicy),
      busyMode: row.config.busy.mode,
      reset: row.config.reset ?? null,
      resetByType: row.config.resetByType ?? {},
      resetByChannel: row.config.resetByChannel ?? {},
      system: row.config.system ?? null,
      turnMsMax: row.config.limits?.turnMs ?? null,
      inactiveMsMax: row.config.limits?.inactiveMs ?? null,
      freshnessMs: row.config.resume?.freshnessMs ?? RECOVERY_DEFAULTS.freshnessMs,
      loops: loopsOf(row.config),
      runtime: runtimeOf(row.config),
      secret: secretsOf(sealing, { tenantId, id: agentId, row }),
    };
  });
  const get = (tenantId: TenantId, agentId: AgentId) => byId.get(`${tenantId}/${agentId}`);
  return {
    get,
    byName: async (tenantId, name) => {
      const agentId = await ids.get(`${tenantId}/${name}`);
      return agentId === null ? null : get(tenantId, agentId);
    },
  };
}

function cachedAccounts(rows: ConfigRows, cache: CacheOf, sealing: Sealing): AccountConfigs {
  const ids = cache<Pair<string>, AccountId>((pair) => rows.accountId(...parts<string>(pair)));
  const tenants = cache<AccountId, TenantId>((accountId) => rows.tenantOfAccount(accountId));
  const byId = cache<Pair<AccountId>, AccountConfig>(async (pair) => {
    const [tenantId, accountId] = parts<AccountId>(pair);
    const row = await rows.account(tenantId, accountId);
    if (row === null) return null;
    return {
      tenantId,
      tenantName: row.tenant_name,
      accountId,
      name: row.name,
      version: row.version,
      agentId: row.config.agentId as AgentId,
      channel: row.config.channel,
      options: row.config.options,
      secret: secretsOf(sealing, { tenantId, id: accountId, row }),
    };
  });
  const get = (tenantId: TenantId, accountId: AccountId) => byId.get(`${tenantId}/${accountId}`);
  return {
    get,
    byName: async (tenantId, name) => {
      const accountId = await ids.get(`${tenantId}/${name}`);
      return accountId === null ? null : get(tenantId, accountId);
    },
    locate: (accountId) => tenants.get(accountId),
  };
}

function cachedWebChats(rows: ConfigRows, cache: CacheOf, accounts: Pick<AccountConfigs, 'get'>): WebChatAccounts {
  const ids = cache<Pair<AgentId>, AccountId>((pair) => rows.accountOfAgent(...parts<AgentId>(pair), 'webchat'));
  const origins = cache<string, true>(async (origin) => ((await rows.knowsOrigin(origin)) ? true : null));
  return {
    ofAgent: async (tenantId, agentId) => {
      const accountId = await ids.get(`${tenantId}/${agentId}`);
      return accountId === null ? null : accounts.get(tenantId, accountId);
    },
    knowsOrigin: async (origin) => (await origins.get(origin)) !== null,
  };
}

function cachedKeys(rows: ConfigRows, cache: CacheOf, { clock, onError }: ConfigsOptions): KeyLookup {
  const tenantKeys = cache<string, { record: KeyRecord; notedAtMs: number }>(async (keyId) => {
    const found = await rows.tenantKey(keyId);
    return found && { record: found.record, notedAtMs: found.lastUsedAt?.getTime() ?? 0 };
  });
  const operatorKeys = cache<string, KeyRecord>((keyId) => rows.operatorKey(keyId));
  const note = async (keyId: string) => {
    const entry = await tenantKeys.get(keyId);
    if (entry === null || clock.nowMs() - entry.notedAtMs < NOTE_EVERY_MS) return;
    entry.notedAtMs = clock.nowMs();
    await rows.noteUse(keyId);
  };
  return {
    find: async (kind, keyId) =>
      kind === 'operator' ? operatorKeys.get(keyId) : ((await tenantKeys.get(keyId))?.record ?? null),
    noteUse: ({ keyId, tenantId }) => {
      if (tenantId !== null) note(keyId).catch((error: unknown) => onError?.(error));
    },
  };
}

interface SealedRow {
  readonly tenantId: TenantId;
  readonly id: string;
  readonly row: { readonly version: number; readonly data_key: Uint8Array; readonly secrets: Uint8Array | null };
}

/** Opens the values when the first of them is asked for, and keeps them as long as the cache keeps the version. */
function secretsOf(sealing: Sealing, { tenantId, id, row }: SealedRow): (name: string) => Promise<string | null> {
  const open = async (): Promise<Secrets> => {
    const seal = await sealing.ofTenant(tenantId, row.data_key);
    return seal.open({ id, version: row.version }, row.secrets);
  };
  let opened: Promise<Secrets> | undefined;
  return async (name) => {
    opened ??= open();
    const secrets = await opened;
    return Object.hasOwn(secrets, name) ? (secrets[name] ?? null) : null;
  };
}

function parts<Id extends string>(pair: Pair<Id>): [TenantId, Id] {
  const mark = pair.indexOf('/');
  return [pair.slice(0, mark) as TenantId, pair.slice(mark + 1) as Id];
}

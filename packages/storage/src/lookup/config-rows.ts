import type { AccountId, AgentId, KeyRecord, KeyRowId, TenantConfig, TenantId } from '@turnkeeper/core';
import { completeLimits } from '@turnkeeper/core';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { type QueryBuilder, queryBuilder, runQuery } from '../read/queries.ts';

/** Reads configuration on the role `tk_lookup`, one statement each, uncached. Every call: @throws StoreError */
export class ConfigRows {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async tenant(by: 'id' | 'name', value: string): Promise<TenantConfig | null> {
    const query = this.#build
      .selectFrom('tk.tenants')
      .select(['id', 'name', 'status', 'limits', 'time_zone'])
      .where(by, '=', value);
    const [row] = await runQuery(this.#database, query);
    if (!row) return null;
    return {
      tenantId: row.id as TenantId,
      name: row.name,
      status: row.status,
      limits: completeLimits(row.limits),
      timeZone: row.time_zone,
    };
  }

  async agentId(tenantId: TenantId, name: string): Promise<AgentId | null> {
    const query = this.#build
      .selectFrom('tk.agents')
      .select('id')
      .where('tenant_id', '=', tenantId)
      .where('name', '=', name)
      .where('deleted_at', 'is', null);
    const [row] = await runQuery(this.#database, query);
    return (row?.id ?? null) as AgentId | null;
  }

  async accountId(tenantId: TenantId, name: string): Promise<AccountId | null> {
    const query = this.#build
      .selectFrom('tk.accounts')
      .select('id')
      .where('tenant_id', '=', tenantId)
      .where('name', '=', name)
      .where('deleted_at', 'is', null);
    const [row] = await runQuery(this.#database, query);
    return (row?.id ?? null) as AccountId | null;
  }

  async tenantOfAccount(accountId: AccountId): Promise<TenantId | null> {
    const query = this.#build
      .selectFrom('tk.accounts')
      .select('tenant_id')
      .where('id', '=', accountId)
      .where('deleted_at', 'is', null);
    const [row] = await runQuery(this.#database, query);
    return (row?.tenant_id ?? null) as TenantId | null;
  }

  /** The version that the pointer names, with the tenant's data key. */
  async agent(tenantId: TenantId, agentId: AgentId) {
    const query = this.#build
      .selectFrom('tk.agents as a')
      .innerJoin('tk.tenants as t', 't.id', 'a.tenant_id')
      .innerJoin('tk.agent_versions as v', (join) =>
        join
          .onRef('v.tenant_id', '=', 'a.tenant_id')
          .onRef('v.agent_id', '=', 'a.id')
          .onRef('v.version', '=', 'a.version'),
      )
      .select(['a.name', 'a.version', 'v.config', 'v.secrets', 't.name as tenant_name', 't.data_key'])
      .where('a.tenant_id', '=', tenantId)
      .where('a.id', '=', agentId)
      .where('a.deleted_at', 'is', null);
    const [row] = await runQuery(this.#database, query);
    return row ?? null;
  }

  /** As `agent`. */
  async account(tenantId: TenantId, accountId: AccountId) {
    const query = this.#build
      .selectFrom('tk.accounts as a')
      .innerJoin('tk.tenants as t', 't.id', 'a.tenant_id')
      .innerJoin('tk.account_versions as v', (join) =>
        join
          .onRef('v.tenant_id', '=', 'a.tenant_id')
          .onRef('v.account_id', '=', 'a.id')
          .onRef('v.version', '=', 'a.version'),
      )
      .select(['a.name', 'a.version', 'v.config', 'v.secrets', 't.name as tenant_name', 't.data_key'])
      .where('a.tenant_id', '=', tenantId)
      .where('a.id', '=', accountId)
      .where('a.deleted_at', 'is', null);
    const [row] = await runQuery(this.#database, query);
    return row ?? null;
  }

  /** The oldest account of the channel that hands its messages to the agent. */
  async accountOfAgent(tenantId: TenantId, agentId: AgentId, channel: string): Promise<AccountId | null> {
    const query = this.#build
      .selectFrom('tk.accounts as a')
      .innerJoin('tk.account_versions as v', (join) =>
        join
          .onRef('v.tenant_id', '=', 'a.tenant_id')
          .onRef('v.account_id', '=', 'a.id')
          .onRef('v.version', '=', 'a.version'),
      )
      .select('a.id')
      .where('a.tenant_id', '=', tenantId)
      .where('a.agent_id', '=', agentId)
      .where('a.deleted_at', 'is', null)
      .where(sql<string>`v.config ->> 'channel'`, '=', channel)
      .orderBy('a.id')
      .limit(1);
    const [row] = await runQuery(this.#database, query);
    return (row?.id ?? null) as AccountId | null;
  }

  /** Whether the newest version of some web chat account names the origin, or every one. */
  async knowsOrigin(origin: string): Promise<boolean> {
    const query = this.#build
      .selectFrom('tk.account_versions as v')
      .innerJoin('tk.accounts as a', (join) =>
        join
          .onRef('a.tenant_id', '=', 'v.tenant_id')
          .onRef('a.id', '=', 'v.account_id')
          .onRef('a.version', '=', 'v.version'),
      )
      .select('a.id')
      .where('a.deleted_at', 'is', null)
      .where(
        sql<boolean>`v.config ->> 'channel' = 'webchat' and v.config #> '{options,origins}' ?| array[${origin}, '*']`,
      )
      .limit(1);
    return (await runQuery(this.#database, query)).length > 0;
  }

  /** `lastUsedAt` comes along, so that a use is noted once in a while and not each time. */
  async tenantKey(keyId: string): Promise<{ record: KeyRecord; lastUsedAt: Date | null } | null> {
    const query = this.#build
      .selectFrom('tk.api_keys')
      .select(['id', 'tenant_id', 'hash', 'scopes', 'expires_at', 'revoked_at', 'last_used_at'])
      .where('key_id', '=', keyId);
    const [row] = await runQuery(this.#database, query);
    if (!row) return null;
    const record = {
      id: row.id as KeyRowId,
      keyId,
      tenantId: row.tenant_id as TenantId,
      hash: row.hash,
      scopes: row.scopes,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
    };
    return { record, lastUsedAt: row.last_used_at };
  }

  async operatorKey(keyId: string): Promise<KeyRecord | null> {
    const query = this.#build
      .selectFrom('tk.operator_keys')
      .select(['id', 'hash', 'expires_at', 'revoked_at'])
      .where('key_id', '=', keyId);
    const [row] = await runQuery(this.#database, query);
    if (!row) return null;
    const { id, hash, expires_at: expiresAt, revoked_at: revokedAt } = row;
    return { id: id as KeyRowId, keyId, tenantId: null, hash, scopes: [], expiresAt, revokedAt };
  }

  async noteUse(keyId: string): Promise<void> {
    const query = this.#build
      .updateTable('tk.api_keys')
      .set({ last_used_at: sql<Date>`now()` })
      .where('key_id', '=', keyId);
    await runQuery(this.#database, query);
  }
}

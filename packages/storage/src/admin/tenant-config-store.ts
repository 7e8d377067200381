import {
  type AccountDraft,
  type AccountRow,
  type AgentDraft,
  type AgentRow,
  AppError,
  type ConfigChange,
  decodeCursor,
  encodeCursor,
  type Ids,
  type Page,
  type PageRequest,
  parseReference,
  type TenantId,
  type TenantWrites,
  type WriteOptions,
  type Written,
} from '@turnkeeper/core';
import type { Compilable } from 'kysely';
import type { Database } from '../database.ts';
import { pageOf } from '../read/page.ts';
import { asTenant, type QueryBuilder, queryBuilder } from '../read/queries.ts';
import type { Sealing, TenantSeal } from '../seal/sealing.ts';
import { accountOf, deleteAccount, putAccount, selectAccounts, unpauseAccount } from './accounts.ts';
import { agentOf, deleteAgent, putAgent, selectAgents } from './agents.ts';
import type { ChangeContext } from './change.ts';
import { selectTenants } from './tenants.ts';

export interface TenantConfigStoreOptions {
  /** On the role `tk_api` for tenants themselves, on `tk_admin` for operators. */
  readonly database: Database;
  readonly sealing: Sealing;
  readonly ids: Ids;
}

/** Agents and accounts of one tenant at a time. */
export class TenantConfigStore implements TenantWrites {
  readonly #options: TenantConfigStoreOptions;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(options: TenantConfigStoreOptions) {
    this.#options = options;
  }

  putAgent(tenantId: TenantId, draft: AgentDraft, options: WriteOptions): Promise<Written<AgentRow>> {
    return this.#change(tenantId, options, (context) => putAgent(context, draft));
  }

  putAccount(tenantId: TenantId, draft: AccountDraft, options: WriteOptions): Promise<Written<AccountRow>> {
    return this.#change(tenantId, options, (context) => putAccount(context, draft));
  }

  async listAgents(tenantId: TenantId, page: PageRequest): Promise<Page<AgentRow>> {
    const after = placeOf('agents', page);
    const query = selectAgents(this.#build, tenantId)
      .$if(after !== undefined, (q) => q.where('a.name', '>', after ?? ''))
      .orderBy('a.name')
      .limit(page.limit + 1);
    const [seal, rows] = await Promise.all([this.#sealOf(tenantId), this.#read(tenantId, query)]);
    const read = rows.map((row) => agentOf(row, seal));
    return pageOf(read, page.limit, (last) => encodeCursor('agents', [last.name]));
  }

  async listAccounts(tenantId: TenantId, page: PageRequest): Promise<Page<AccountRow>> {
    const after = placeOf('accounts', page);
    const query = selectAccounts(this.#build, tenantId)
      .$if(after !== undefined, (q) => q.where('a.name', '>', after ?? ''))
      .orderBy('a.name')
      .limit(page.limit + 1);
    const [seal, rows] = await Promise.all([this.#sealOf(tenantId), this.#read(tenantId, query)]);
    const read = rows.map((row) => accountOf(row, seal));
    return pageOf(read, page.limit, (last) => encodeCursor('accounts', [last.name]));
  }

  async getAgent(tenantId: TenantId, reference: string): Promise<AgentRow | null> {
    const named = parseReference(reference, 'agt');
    if (named === null) return null;
    const query = selectAgents(this.#build, tenantId).where(`a.${named.by}`, '=', named.value);
    const [row] = await this.#read(tenantId, query);
    return row ? agentOf(row, await this.#sealOf(tenantId)) : null;
  }

  async getAccount(tenantId: TenantId, reference: string): Promise<AccountRow | null> {
    const named = parseReference(reference, 'acc');
    if (named === null) return null;
    const query = selectAccounts(this.#build, tenantId).where(`a.${named.by}`, '=', named.value);
    const [row] = await this.#read(tenantId, query);
    return row ? accountOf(row, await this.#sealOf(tenantId)) : null;
  }

  deleteAgent(tenantId: TenantId, reference: string, options: WriteOptions): Promise<ConfigChange | null> {
    return this.#change(tenantId, options, (context) => deleteAgent(context, reference));
  }

  deleteAccount(tenantId: TenantId, reference: string, options: WriteOptions): Promise<ConfigChange | null> {
    return this.#change(tenantId, options, (context) => deleteAccount(context, reference));
  }

  unpauseAccount(tenantId: TenantId, reference: string, options: WriteOptions): Promise<AccountRow | null> {
    return this.#change(tenantId, options, (context) => unpauseAccount(context, reference));
  }

  async #change<T>(
    tenantId: TenantId,
    { actor, mustBeNew = false, ifVersions }: WriteOptions,
    work: (context: ChangeContext) => Promise<T>,
  ): Promise<T> {
    const seal = await this.#sealOf(tenantId);
    const { database, ids } = this.#options;
    return asTenant(database, tenantId, (run) =>
      work({ run, build: this.#build, ids, tenantId, seal, actor, mustBeNew, ifVersions }),
    );
  }

  #read<Row>(tenantId: TenantId, query: Compilable<Row>): Promise<Row[]> {
    return asTenant(this.#options.database, tenantId, (run) => run(query));
  }

  /** Asked for before a transaction begins: a KMS may take its time. */
  async #sealOf(tenantId: TenantId): Promise<TenantSeal> {
    const query = selectTenants(this.#build).where('t.id', '=', tenantId);
    const [row] = await asTenant(this.#options.database, tenantId, (run) => run(query));
    if (!row) throw new AppError({ code: 'internal', message: 'an authenticated tenant has no row' });
    return this.#options.sealing.ofTenant(tenantId, row.data_key);
  }
}

/** The name after which a page begins. */
export function placeOf(list: string, { cursor }: PageRequest): string | undefined {
  return cursor === undefined ? undefined : decodeCursor(list, cursor, ['name'])[0];
}

import {
  type ConfigChange,
  type DeletionReceipt,
  encodeCursor,
  type Ids,
  type KeyDraft,
  type OperatorWrites,
  type Page,
  type PageRequest,
  type PutTenantOptions,
  parseReference,
  type TenantDraft,
  type TenantId,
  type TenantRow,
  type WriteOptions,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import { pageOf } from '../read/page.ts';
import { asTenant, type QueryBuilder, queryBuilder, type Run, runQuery, triedAsTenant } from '../read/queries.ts';
import type { Sealing, TenantSeal } from '../seal/sealing.ts';
import { putAccount } from './accounts.ts';
import { putAgent } from './agents.ts';
import { below, type ChangeContext, vanished } from './change.ts';
import { beginDeletion, receiptOf, selectReceipts } from './deletions.ts';
import { putKey, type WrittenKey } from './keys.ts';
import { pruneParts } from './prune.ts';
import { placeOf } from './tenant-config-store.ts';
import { changeTenant, insertTenant, selectTenants, tenantOf } from './tenants.ts';

export interface OperatorConfigStoreOptions {
  /** On the role `tk_admin`. */
  readonly database: Database;
  readonly sealing: Sealing;
  readonly ids: Ids;
  /** Of tokens only the HMAC under this pepper is stored. */
  readonly pepper: string;
}

/** A tenant as it is or is about to be. Prepared before the transaction begins, because a KMS may take its time. */
interface Prepared {
  readonly tenantId: TenantId;
  readonly dataKey: Uint8Array;
  readonly seal: TenantSeal;
}

/** Tenants and keys, for operators. */
export class OperatorConfigStore implements OperatorWrites {
  readonly #options: OperatorConfigStoreOptions;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(options: OperatorConfigStoreOptions) {
    this.#options = options;
  }

  async putTenant(draft: TenantDraft, options: PutTenantOptions): ReturnType<OperatorWrites['putTenant']> {
    const prepared = await this.#prepare('name', draft.name);
    const { database } = this.#options;
    const work = async (run: Run) => {
      const { tenantId, dataKey } = prepared;
      await run(insertTenant(this.#build, { id: tenantId, name: draft.name, dataKey }));
      const [row] = await run(selectTenants(this.#build).where('t.name', '=', draft.name));
      // somebody made the tenant between the preparation and now: nothing was written yet
      if (row?.id !== tenantId) return null;
      return this.#putParts(this.#contextOf(run, prepared, options), draft, options);
    };
    const done = options.dryRun
      ? await triedAsTenant(database, prepared.tenantId, work)
      : await asTenant(database, prepared.tenantId, work);
    return done ?? this.putTenant(draft, options);
  }

  async putKey(tenantId: TenantId, draft: KeyDraft, options: WriteOptions): Promise<WrittenKey> {
    const prepared = await this.#prepare('id', tenantId);
    const { database, pepper } = this.#options;
    return asTenant(database, tenantId, (run) => putKey(this.#contextOf(run, prepared, options), draft, pepper));
  }

  async listTenants(page: PageRequest): Promise<Page<TenantRow>> {
    const after = placeOf('tenants', page);
    const query = selectTenants(this.#build)
      .$if(after !== undefined, (q) => q.where('t.name', '>', after ?? ''))
      .orderBy('t.name')
      .limit(page.limit + 1);
    const rows = await runQuery(this.#options.database, query);
    return pageOf(rows.map(tenantOf), page.limit, (last) => encodeCursor('tenants', [last.name]));
  }

  async getTenant(reference: string): Promise<TenantRow | null> {
    const named = parseReference(reference, 'ten');
    if (named === null) return null;
    const query = selectTenants(this.#build).where(`t.${named.by}`, '=', named.value);
    const [row] = await runQuery(this.#options.database, query);
    return row ? tenantOf(row) : null;
  }

  async deleteTenant(reference: string, { actor, ifVersions }: WriteOptions): Promise<DeletionReceipt | null> {
    const tenant = await this.getTenant(reference);
    if (tenant === null) return null;
    const { database, ids } = this.#options;
    const { tenantId } = tenant;
    return asTenant(database, tenantId, (run) =>
      beginDeletion({ run, build: this.#build, ids, tenantId, actor, ifVersions }),
    );
  }

  async getReceipt(reference: string): Promise<DeletionReceipt | null> {
    const named = parseReference(reference, 'ten');
    if (named === null) return null;
    const [row] = await runQuery(this.#options.database, selectReceipts(this.#build, named));
    return row ? receiptOf(row) : null;
  }

  async #prepare(by: 'id' | 'name', value: string): Promise<Prepared> {
    const { database, sealing, ids } = this.#options;
    const [row] = await runQuery(database, selectTenants(this.#build).where(`t.${by}`, '=', value));
    if (!row && by === 'id') throw vanished();
    const tenantId = (row?.id ?? ids.next()) as TenantId;
    const dataKey = row?.data_key ?? (await sealing.newDataKey());
    return { tenantId, dataKey, seal: await sealing.ofTenant(tenantId, dataKey) };
  }

  #contextOf(run: Run, { tenantId, seal }: Prepared, { actor, ifVersions }: WriteOptions): ChangeContext {
    return { run, build: this.#build, ids: this.#options.ids, tenantId, seal, actor, mustBeNew: false, ifVersions };
  }

  /** In this order: accounts name agents. */
  async #putParts(
    ofTenant: ChangeContext,
    draft: TenantDraft,
    { prune = [], dryRun = false }: PutTenantOptions,
  ): ReturnType<OperatorWrites['putTenant']> {
    const { row, change } = await changeTenant(ofTenant, draft);
    const context = { ...ofTenant, ifVersions: undefined };
    const changes: ConfigChange[] = [change];
    const tokens = new Map<string, string>();
    for (const [i, key] of draft.keys.entries()) {
      const written = await below(`/keys/${i}`, () => putKey(context, key, this.#options.pepper));
      changes.push(written.change);
      if (written.token !== null && !dryRun) tokens.set(key.name, written.token);
    }
    for (const [i, agent] of draft.agents.entries()) {
      changes.push((await below(`/agents/${i}`, () => putAgent(context, agent))).change);
    }
    for (const [i, account] of draft.accounts.entries()) {
      changes.push((await below(`/accounts/${i}`, () => putAccount(context, account))).change);
    }
    changes.push(...(await pruneParts(context, draft, prune)));
    return { row, changes, tokens };
  }
}

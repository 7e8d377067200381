import { randomBytes } from 'node:crypto';
import {
  AppError,
  type ConfigChange,
  differencesOf,
  encodeCursor,
  hashApiToken,
  type Ids,
  type KeyChange,
  type KeyRow,
  type KeyWrites,
  makeApiToken,
  type NewKey,
  type Page,
  type PageRequest,
  parseReference,
  type TenantId,
  TOKEN_RANDOM_BYTES,
  type WriteOptions,
  type Written,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { pageOf } from '../read/page.ts';
import { asTenant, type QueryBuilder, queryBuilder, type Run } from '../read/queries.ts';
import { audited, type ChangeContext, checkVersion, vanished } from './change.ts';
import { keyOf, selectKeys, shownOf } from './keys.ts';
import { placeOf } from './tenant-config-store.ts';

export interface KeyStoreOptions {
  /** On the role `tk_api` for tenants themselves, on `tk_admin` for operators. */
  readonly database: Database;
  readonly ids: Ids;
  /** Of tokens only the HMAC under this pepper is stored. */
  readonly pepper: string;
}

/** Keys of one tenant at a time. */
export class KeyStore implements KeyWrites {
  readonly #options: KeyStoreOptions;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(options: KeyStoreOptions) {
    this.#options = options;
  }

  createKey(tenantId: TenantId, draft: NewKey, { actor }: WriteOptions): ReturnType<KeyWrites['createKey']> {
    const { ids, pepper } = this.#options;
    const { token, keyId } = makeApiToken('tenant', randomBytes(TOKEN_RANDOM_BYTES));
    const { name, preset, expiresAt } = draft;
    const row = { id: ids.next(), tenant_id: tenantId, key_id: keyId, name, hash: hashApiToken(pepper, token) };
    const granted = { scopes: [...draft.scopes], preset, expires_at: expiresAt };
    return this.#within(tenantId, async (run) => {
      const insert = this.#build
        .insertInto('tk.api_keys')
        .values({ ...row, ...granted })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
        .returning('id');
      const [made] = await run(insert);
      if (!made) throw refuse('A key of this name exists or was revoked. Names of keys are used once: choose another.');
      const [stored] = await run(selectKeys(this.#build, tenantId).where('k.id', '=', made.id));
      if (!stored) throw vanished();
      const fields = differencesOf({}, shownOf(granted, false));
      const change = await this.#audit(
        { run, tenantId, actor },
        {
          ...{ kind: 'key', name, result: 'created', version: null },
          fields: [{ pointer: '/secret' }, ...fields],
        },
      );
      return { row: keyOf(stored), change, token };
    });
  }

  changeKey(tenantId: TenantId, change: KeyChange, options: WriteOptions): Promise<Written<KeyRow> | null> {
    return this.#within(tenantId, async (run) => {
      const query = this.#byReference(tenantId, change.key);
      const [known] = query === null ? [] : await run(query.forUpdate());
      if (!known) return null;
      checkVersion(options, known.version);
      const wanted = {
        scopes: [...(change.grant?.scopes ?? known.scopes)],
        preset: change.grant === undefined ? known.preset : change.grant.preset,
        expires_at: change.expiresAt === undefined ? known.expires_at : change.expiresAt,
      };
      const isRevoked = known.revoked_at !== null;
      const fields = differencesOf(shownOf(known, isRevoked), {
        ...shownOf({ ...wanted, hash: known.hash }, change.revoked ?? isRevoked),
      });
      const told = { kind: 'key', name: known.name, version: null, fields } as const;
      if (fields.length === 0) return { row: keyOf(known), change: { ...told, result: 'unchanged' } };
      if (isRevoked) throw refuse('The key was revoked. Make another.');
      const revoked = change.revoked ? { revoked_at: sql<Date>`now()` } : {};
      const update = this.#build
        .updateTable('tk.api_keys')
        .set({ ...wanted, ...revoked, version: known.version + 1 })
        .where('id', '=', known.id);
      await run(update);
      const [row] = await run(selectKeys(this.#build, tenantId).where('k.id', '=', known.id));
      if (!row) throw vanished();
      const result = change.revoked ? 'deleted' : 'updated';
      return {
        row: keyOf(row),
        change: await this.#audit({ run, tenantId, actor: options.actor }, { ...told, result }),
      };
    });
  }

  async listKeys(tenantId: TenantId, page: PageRequest): Promise<Page<KeyRow>> {
    const after = placeOf('keys', page);
    const query = selectKeys(this.#build, tenantId)
      .$if(after !== undefined, (q) => q.where('k.name', '>', after ?? ''))
      .orderBy('k.name')
      .limit(page.limit + 1);
    const rows = await this.#within(tenantId, (run) => run(query));
    return pageOf(rows.map(keyOf), page.limit, (last) => encodeCursor('keys', [last.name]));
  }

  async getKey(tenantId: TenantId, reference: string): Promise<KeyRow | null> {
    const query = this.#byReference(tenantId, reference);
    if (query === null) return null;
    const [row] = await this.#within(tenantId, (run) => run(query));
    return row ? keyOf(row) : null;
  }

  #byReference(tenantId: TenantId, reference: string) {
    const named = parseReference(reference, 'key');
    return named === null ? null : selectKeys(this.#build, tenantId).where(`k.${named.by}`, '=', named.value);
  }

  #within<T>(tenantId: TenantId, work: (run: Run) => Promise<T>): Promise<T> {
    return asTenant(this.#options.database, tenantId, work);
  }

  #audit(of: Pick<ChangeContext, 'run' | 'tenantId' | 'actor'>, change: ConfigChange): Promise<ConfigChange> {
    return audited({ ...of, build: this.#build, ids: this.#options.ids }, change);
  }
}

function refuse(message: string): AppError {
  return new AppError({ code: 'cannot_change', message });
}

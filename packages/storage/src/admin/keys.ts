import { randomBytes } from 'node:crypto';
import {
  differencesOf,
  hashApiToken,
  KEY_PRESETS,
  type KeyDraft,
  type KeyRow,
  type KeyRowId,
  makeApiToken,
  parseApiToken,
  scopesOf,
  type TenantId,
  TOKEN_RANDOM_BYTES,
  type Written,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder, RowOf } from '../read/queries.ts';
import { constraintOf } from '../store-error.ts';
import { audited, type ChangeContext, checkVersion, invalidConfig, vanished } from './change.ts';

export function selectKeys(build: QueryBuilder, tenantId: TenantId) {
  return build
    .selectFrom('tk.api_keys as k')
    .select(['k.id', 'k.key_id', 'k.name', 'k.version', 'k.hash', 'k.scopes', 'k.preset'])
    .select(['k.created_at', 'k.expires_at', 'k.revoked_at', 'k.last_used_at'])
    .where('k.tenant_id', '=', tenantId);
}

type Row = RowOf<typeof selectKeys>;

export function keyOf(row: Row): KeyRow {
  return {
    id: row.id as KeyRowId,
    keyId: row.key_id,
    name: row.name,
    version: row.version,
    scopes: row.scopes,
    preset: row.preset,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

/** What the put made: the row, what changed, and the token when it was made here. */
export type WrittenKey = Written<KeyRow> & { readonly token: string | null };

/** Makes a key or changes one in place: keys have no versions. @throws AppError `config_invalid` when another key has this id */
export async function putKey(context: ChangeContext, draft: KeyDraft, pepper: string): Promise<WrittenKey> {
  const { run, build, tenantId } = context;
  // a key that is not there yet cannot be locked: its tenant is, so that puts of one name come one after the other
  await run(build.selectFrom('tk.tenants').select('id').where('id', '=', tenantId).forNoKeyUpdate());
  const byName = selectKeys(build, tenantId).where('k.name', '=', draft.name);
  const [known] = await run(byName);
  checkVersion(context, known?.version ?? 0);
  const made = known || draft.token !== null ? null : makeApiToken('tenant', randomBytes(TOKEN_RANDOM_BYTES)).token;
  const token = draft.token ?? made;
  const wanted: Wanted = {
    ...(token !== null && storedOf(token, pepper)),
    scopes: [...draft.scopes],
    preset: draft.preset,
    expires_at: draft.expiresAt,
  };
  const before: Shown = known ? shownOf(known, known.revoked_at !== null) : {};
  // a token that is not given stays
  const after = { ...(before.secret !== undefined && { secret: before.secret }), ...shownOf(wanted, draft.revoked) };
  const fields = differencesOf(before, after).map((field) =>
    field.pointer === '/secret' ? { pointer: field.pointer } : field,
  );
  if (known && fields.length === 0) return { row: keyOf(known), change: changeOf(draft, 'unchanged', []), token: null };
  await uniquely(() => run(known ? update(context, known, { draft, wanted }) : insert(context, draft, wanted)));
  const [row] = await run(byName);
  if (!row) throw vanished();
  const change = await audited(context, changeOf(draft, known ? 'updated' : 'created', fields));
  return { row: keyOf(row), change, token: made };
}

interface Stored {
  readonly key_id: string;
  readonly hash: Uint8Array;
}

interface Wanted extends Partial<Stored> {
  readonly scopes: string[];
  readonly preset: string | null;
  readonly expires_at: Date | null;
}

function storedOf(token: string, pepper: string): Stored {
  return { key_id: parseApiToken(token)?.keyId ?? '', hash: hashApiToken(pepper, token) };
}

/** A preset says what the scopes are, unless its meaning has changed since. */
function isOfPreset({ preset, scopes }: Pick<Row, 'scopes' | 'preset'>): boolean {
  const known = KEY_PRESETS.find((name) => name === preset);
  return known !== undefined && differencesOf([...scopesOf(known)], [...scopes]).length === 0;
}

type Shown = Partial<ReturnType<typeof shownOf>>;

/** What a difference may show: of the token only that it is another one. */
export function shownOf(row: Pick<Row, 'scopes' | 'preset' | 'expires_at'> & Partial<Stored>, revoked: boolean) {
  return {
    ...(row.hash && { secret: Buffer.from(row.hash).toString('hex') }),
    ...(!isOfPreset(row) && { scopes: row.scopes }),
    preset: row.preset,
    expiresAt: row.expires_at?.toISOString() ?? null,
    revoked,
  };
}

function insert({ build, ids, tenantId }: ChangeContext, draft: KeyDraft, wanted: Wanted) {
  const { key_id = '', hash = new Uint8Array(), ...rest } = wanted;
  const revoked_at = draft.revoked ? sql<Date>`now()` : null;
  return build
    .insertInto('tk.api_keys')
    .values({ id: ids.next(), tenant_id: tenantId, name: draft.name, key_id, hash, ...rest, revoked_at });
}

function update({ build }: ChangeContext, known: Row, { draft, wanted }: { draft: KeyDraft; wanted: Wanted }) {
  const isOther = wanted.key_id !== undefined && wanted.key_id !== known.key_id;
  return build
    .updateTable('tk.api_keys')
    .set({
      ...wanted,
      version: known.version + 1,
      revoked_at: draft.revoked ? sql<Date>`coalesce(revoked_at, now())` : null,
      ...(isOther && { last_used_at: null }),
    })
    .where('id', '=', known.id);
}

async function uniquely<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (constraintOf(error) !== 'api_keys_key_id_key') throw error;
    throw invalidConfig('/secret', 'config_invalid', 'Another key has this key id. Choose another token.');
  }
}

function changeOf(
  draft: KeyDraft,
  result: 'created' | 'updated' | 'unchanged',
  fields: WrittenKey['change']['fields'],
) {
  return { kind: 'key', name: draft.name, result, version: null, fields } as const;
}

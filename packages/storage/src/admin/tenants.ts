import {
  AppError,
  type ConfigChange,
  completeLimits,
  differencesOf,
  type TenantDraft,
  type TenantId,
  type TenantRow,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder, RowOf } from '../read/queries.ts';
import { audited, type ChangeContext, checkVersion, vanished } from './change.ts';

export function selectTenants(build: QueryBuilder) {
  return build
    .selectFrom('tk.tenants as t')
    .select(['t.id', 't.name', 't.status', 't.limits', 't.time_zone', 't.version', 't.data_key'])
    .select(['t.created_at', 't.updated_at']);
}

type Row = RowOf<typeof selectTenants>;

export function tenantOf(row: Row): TenantRow {
  return {
    tenantId: row.id as TenantId,
    name: row.name,
    status: row.status,
    limits: completeLimits(row.limits),
    timeZone: row.time_zone,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Inserts a tenant unless its name is taken; version 0 says that it was made in this very transaction. */
export function insertTenant(build: QueryBuilder, row: { id: TenantId; name: string; dataKey: Uint8Array }) {
  return build
    .insertInto('tk.tenants')
    .values({ id: row.id, name: row.name, data_key: row.dataKey, version: 0 })
    .onConflict((conflict) => conflict.column('name').doNothing());
}

/** Brings the tenant's own fields to the draft. Its row stays locked: two puts of one tenant come one after the other. */
export async function changeTenant(
  context: ChangeContext,
  draft: TenantDraft,
): Promise<{ row: TenantRow; change: ConfigChange }> {
  const { run, build, tenantId } = context;
  const query = selectTenants(build).where('t.id', '=', tenantId);
  const [known] = await run(query.forUpdate());
  if (!known) throw vanished();
  if (known.status === 'deleting') {
    throw new AppError({ code: 'cannot_change', message: 'The tenant is being deleted. Its name is free afterwards.' });
  }
  const isNew = known.version === 0;
  checkVersion(context, known.version);
  const before = { status: known.status, limits: completeLimits(known.limits), timeZone: known.time_zone };
  const { status, limits, timeZone } = draft;
  const wanted = {
    status: status ?? before.status,
    limits: limits ?? before.limits,
    timeZone: timeZone ?? before.timeZone,
  };
  const fields = differencesOf(isNew ? {} : before, wanted);
  if (fields.length > 0) {
    const change = {
      status: wanted.status,
      limits: JSON.stringify(wanted.limits),
      time_zone: wanted.timeZone,
      version: known.version + 1,
      updated_at: sql<Date>`now()`,
    };
    await run(build.updateTable('tk.tenants').set(change).where('id', '=', tenantId));
  }
  const [row] = await run(query);
  if (!row) throw vanished();
  const result = isNew ? 'created' : fields.length > 0 ? 'updated' : 'unchanged';
  const change = await audited(context, { kind: 'tenant', name: row.name, result, version: row.version, fields });
  return { row: tenantOf(row), change };
}

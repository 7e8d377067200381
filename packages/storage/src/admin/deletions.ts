import { AppError, type DeletionReceipt, type Reference, type TenantId } from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder, RowOf } from '../read/queries.ts';
import { audited, type ChangeContext, checkVersion, vanished } from './change.ts';
import { selectTenants } from './tenants.ts';

/** Receipts outlive their tenants, so a name may have several: the newest first. */
export function selectReceipts(build: QueryBuilder, { by, value }: Reference<string>) {
  return build
    .selectFrom('tk.deletions as d')
    .select(['d.id', 'd.name', 'd.requested_by', 'd.requested_at', 'd.finished_at', 'd.rows'])
    .where(`d.${by}`, '=', value)
    .orderBy('d.requested_at', 'desc')
    .limit(1);
}

type Row = RowOf<typeof selectReceipts>;

export function receiptOf(row: Row): DeletionReceipt {
  return {
    tenantId: row.id as TenantId,
    name: row.name,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    finishedAt: row.finished_at,
    rows: row.rows,
  };
}

/** Marks the tenant and writes the receipt; the leader does the rest. */
export async function beginDeletion(
  context: Pick<ChangeContext, 'run' | 'build' | 'ids' | 'tenantId' | 'actor' | 'ifVersions'>,
): Promise<DeletionReceipt> {
  const { run, build, tenantId, actor } = context;
  const [tenant] = await run(selectTenants(build).where('t.id', '=', tenantId).forUpdate());
  if (!tenant) throw new AppError({ code: 'not_found', message: 'no such tenant' });
  if (tenant.status !== 'deleting') {
    const { name, version } = tenant;
    checkVersion(context, version);
    await run(build.insertInto('tk.deletions').values({ id: tenantId, name, requested_by: actor }));
    const change = { status: 'deleting', version: version + 1, updated_at: sql<Date>`now()` } as const;
    await run(build.updateTable('tk.tenants').set(change).where('id', '=', tenantId));
    await audited(context, { kind: 'tenant', name, result: 'deleted', version: version + 1, fields: [] });
  }
  const [row] = await run(selectReceipts(build, { by: 'id', value: tenantId }));
  if (!row) throw vanished();
  return receiptOf(row);
}

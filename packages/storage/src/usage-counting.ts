import type { TenantId, UsageCounting } from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const USAGE_DUE = call('usage_due', 2);
const COUNT_USAGE = call('count_usage', 3);

/** What tenants used, added up in Postgres as tk_sweep. */
export class PostgresUsageCounting implements UsageCounting {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async due({ tenants, lagMs }: Parameters<UsageCounting['due']>[0]): Promise<TenantId[]> {
    const rows = await this.#database.query<{ tenant_id: string }>(USAGE_DUE, [tenants, lagMs]);
    return rows.map((row) => row.tenant_id as TenantId);
  }

  async count(tenantId: TenantId, { rows, lagMs }: Parameters<UsageCounting['count']>[1]): Promise<boolean> {
    const [row] = await this.#database.query<{ count_usage: boolean }>(COUNT_USAGE, [tenantId, rows, lagMs]);
    return row?.count_usage ?? false;
  }
}

import type { TenantErasure, TenantId } from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const STEP = call('delete_tenant_step', 2);
const ERASE_PENDING = call('erase_pending', 2);
/** Conversations per call. */
const LANES_MAX = 10;

/** Nodes take what they read of a tenant for true for 5 s; hooks and requests of that time have ended after ten more. */
const WAIT_MS = 15_000;

/** Deletes tenants, on the role `tk_sweep`. */
export class PostgresTenantErasure implements TenantErasure {
  readonly #database: Database;
  readonly #waitMs: number;

  constructor(database: Database, waitMs = WAIT_MS) {
    this.#database = database;
    this.#waitMs = waitMs;
  }

  async step(rowsMax: number): ReturnType<TenantErasure['step']> {
    const [row] = await this.#database.query<{ tenant_id: TenantId; table_name: string; deleted: string }>(STEP, [
      rowsMax,
      this.#waitMs,
    ]);
    return row ? { tenantId: row.tenant_id, table: row.table_name, rows: Number(row.deleted) } : null;
  }

  async conversations(rowsMax: number): Promise<number> {
    return (await this.#database.query(ERASE_PENDING, [LANES_MAX, rowsMax])).length;
  }
}

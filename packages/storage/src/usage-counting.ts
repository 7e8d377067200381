import type { UsageCounting } from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const COUNT_USAGE = call('count_usage', 3);

/** What tenants used, added up in Postgres as tk_sweep. */
export class PostgresUsageCounting implements UsageCounting {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async count({ tenants, turns, lagMs }: Parameters<UsageCounting['count']>[0]): Promise<number> {
    const [row] = await this.#database.query<{ counted: number }>(COUNT_USAGE, [tenants, turns, lagMs]);
    return row?.counted ?? 0;
  }
}

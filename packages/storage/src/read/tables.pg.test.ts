import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Database, openDatabase } from '../database.ts';
import { type FreshDatabase, freshDatabase } from '../testing/index.ts';
import { TABLES } from './tables.ts';

let fresh: FreshDatabase;
let database: Database;

beforeAll(async () => {
  fresh = await freshDatabase(inject('urls'));
  database = openDatabase({ url: fresh.url, role: 'tk_admin', poolMax: 1, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

test('every column that the query builder knows is in the database as it says', async () => {
  const live = await liveColumns();
  for (const [table, columns] of Object.entries(TABLES)) {
    for (const [column, { udt, isNullable, hasDefault }] of Object.entries(columns)) {
      const found = live.find((row) => row.table === table && row.column === column);
      expect(found).toEqual({ table, column, udt, isNullable, hasDefault });
    }
  }
});

test('no table that the query builder knows has a column that must be given and is not known', async () => {
  const live = await liveColumns();
  const tables = Object.entries(TABLES).map(([table, columns]) => ({ table, names: Object.keys(columns) }));
  const mustBeGiven = live.filter(({ isNullable, hasDefault }) => !isNullable && !hasDefault);
  const missing = tables.flatMap(({ table, names }) =>
    mustBeGiven.filter((row) => row.table === table && !names.includes(row.column)),
  );
  expect(missing).toEqual([]);
});

interface LiveColumn {
  readonly table: string;
  readonly column: string;
  readonly udt: string;
  readonly isNullable: boolean;
  readonly hasDefault: boolean;
}

function liveColumns(): Promise<LiveColumn[]> {
  return database.query<LiveColumn>(
    {
      name: 'columns',
      text: `select table_schema || '.' || table_name as table, column_name as column, udt_name as udt,
               is_nullable = 'YES' as "isNullable", column_default is not null or is_identity = 'YES' as "hasDefault"
             from information_schema.columns where table_schema = 'tk'`,
    },
    [],
  );
}

import { createHash } from 'node:crypto';
import { AppError, type TenantId } from '@turnkeeper/core';
import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import { BUILT, type Database, type Statement, type Transaction } from '../database.ts';
import type { Tables } from './tables.ts';

/** Builds statements for everything that is not a batch; `Database` runs them, with its deadlines and its errors. */
export type QueryBuilder = Kysely<Tables>;

/** The row type of a function that builds a statement. */
export type RowOf<Select extends (...args: never[]) => { execute(): Promise<unknown[]> }> = Awaited<
  ReturnType<ReturnType<Select>['execute']>
>[number];

/** Runs one built statement inside the transaction that it belongs to. */
export type Run = <Row>(query: Compilable<Row>) => Promise<Row[]>;

export function queryBuilder(): QueryBuilder {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (builder) => new PostgresIntrospector(builder),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** One statement, one transaction. @throws StoreError */
export function runQuery<Row>(database: Database, query: Compilable<Row>): Promise<Row[]> {
  const { statement, values } = statementOf(query);
  return database.query<Row>(statement, values);
}

/** One transaction in which only this tenant's rows exist (on the operators' role: all do). @throws StoreError */
export function asTenant<T>(database: Database, tenantId: TenantId, work: (run: Run) => Promise<T>): Promise<T> {
  return withSetting(database, ['tk.tenant', tenantId], work);
}

/** As `asTenant`, but nothing of it stays. @throws StoreError */
export async function triedAsTenant<T>(
  database: Database,
  tenantId: TenantId,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  let done: { readonly value: T } | undefined;
  try {
    return await asTenant(database, tenantId, async (run) => {
      done = { value: await work(run) };
      throw new RolledBack({ code: 'internal', message: 'only tried' });
    });
  } catch (error) {
    if (error instanceof RolledBack && done !== undefined) return done.value;
    throw error;
  }
}

class RolledBack extends AppError {}

/** One transaction in which only the rows of these tenants exist. @throws StoreError */
export function asTenants<T>(
  database: Database,
  tenantIds: Iterable<TenantId>,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  return withSetting(database, ['tk.tenants', [...new Set(tenantIds)].join(',')], work);
}

/** One transaction; on the operators' role every row exists. @throws StoreError */
export function inTransaction<T>(database: Database, work: (run: Run) => Promise<T>): Promise<T> {
  return database.transaction((transaction) => work(runIn(transaction)));
}

/** A statement of its own: a setting made inside a statement comes too late for the policies of that statement. */
const SET: Statement = { name: 'set_config', text: 'select set_config($1, $2, true)' };

function withSetting<T>(
  database: Database,
  setting: readonly [name: string, value: string],
  work: (run: Run) => Promise<T>,
): Promise<T> {
  return database.transaction(async (transaction) => {
    await transaction.query(SET, setting);
    return work(runIn(transaction));
  });
}

function runIn(transaction: Transaction): Run {
  return (query) => {
    const { statement, values } = statementOf(query);
    return transaction.query(statement, values);
  };
}

/** Named by its text, so that each connection prepares it once. */
function statementOf<Row>(query: Compilable<Row>): { statement: Statement; values: readonly unknown[] } {
  const { sql: text, parameters } = query.compile();
  const name = `${BUILT}${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`;
  return { statement: { name, text }, values: parameters };
}

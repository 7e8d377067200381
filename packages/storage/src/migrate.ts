import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { AppError, type Logger, SLOT_COUNT } from '@turnkeeper/core';
import pg from 'pg';
import type { Database } from './database.ts';
import { ensureRoles } from './roles.ts';
import { toStoreError } from './store-error.ts';

/**
 * The numbers of the last migration this code can work with: a database below `min` is too old. One above `max` is fine
 * unless one of its migrations says that it needs newer programs: so the old and the new program serve one database
 * while an upgrade rolls, and an upgrade can be rolled back (docs/operations.md, decision 15).
 */
export const SCHEMA_RANGE = { min: 186, max: 186 } as const;

/** Two migrators of one database wait for each other here; the number means nothing. */
const MIGRATOR_LOCK = 7_309_416_021;
const LOCK_WAIT_MS = 60_000;
const STATEMENT_MS = 600_000;
const PARTITIONS_DEFAULT = 16;
const MIGRATION_FILE = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** A line of a migration after which programs that know fewer migrations than this must not run. */
const OLDEST_PROGRAM = /^-- oldest program: (\d+)$/m;

export interface MigrateOptions {
  /** The login must be able to create roles and schemas, or both must exist already. */
  readonly url: string;
  /** Partitions of a new slot map, 1 to 4096; an existing map is kept. Default 16. */
  readonly partitions?: number;
  readonly log?: Logger;
}

export interface MigrateResult {
  /** Number of the last migration, now. */
  readonly version: number;
  /** Names of the files applied by this call, in order. */
  readonly applied: readonly string[];
}

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** Programs whose `SCHEMA_RANGE.max` is lower must not run any more once it is applied; 0: any may. */
  readonly oldestProgram: number;
}

/**
 * Brings a database to this code's schema: roles, schema, numbered files in order, slot map. Forward only; each file in
 * its own transaction, remembered with its checksum; one migrator at a time, also across databases of one server,
 * whose roles they share. Repeating it does nothing, and so does an older program on a database it may serve.
 * @throws AppError `schema_mismatch` when an applied file has changed or the database is too new for this code. StoreError
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'turnkeeper-migrate',
    connectionTimeoutMillis: 10_000,
    options: `-c lock_timeout=${LOCK_WAIT_MS} -c statement_timeout=${STATEMENT_MS} -c client_min_messages=warning`,
  });
  // the calls below fail with it; without a listener it would end the process
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select pg_advisory_lock($1)', [MIGRATOR_LOCK]);
    await ensureRoles(client);
    await ensureSchema(client);
    const applied = await applyPending(client, options.log);
    await seedSlots(client, options.partitions ?? PARTITIONS_DEFAULT);
    return { version: await appliedVersion(client), applied };
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await client.end();
  }
}

/** The schema fits this code, else AppError `schema_mismatch` in one sentence that says what to do. */
export async function checkSchema(database: Database): Promise<void> {
  const version = await schemaVersion(database);
  if (version < SCHEMA_RANGE.min) {
    const found = version === 0 ? 'no Turnkeeper schema' : `schema ${version}`;
    throw mismatch(`The database has ${found}, this program needs ${SCHEMA_RANGE.min}: run "turnkeeper migrate".`);
  }
  if (version <= SCHEMA_RANGE.max) return;
  const text = 'select max(oldest_program)::int as oldest from tk.schema_migrations';
  const [row] = await database.query<{ oldest: number }>({ name: 'schema_oldest_program', text }, []);
  if ((row?.oldest ?? 0) > SCHEMA_RANGE.max) throw tooNew(version);
}

/**
 * Row-level security binds the role of this pool, else AppError `internal` in one sentence: a superuser, or a role that
 * may bypass it, would see every tenant.
 */
export async function checkRoles(database: Database): Promise<void> {
  const [row] = await database.query<{ name: string; free: boolean }>(
    {
      name: 'check_role',
      text: 'select rolname as name, rolsuper or rolbypassrls as free from pg_roles where rolname = current_user',
    },
    [],
  );
  if (row === undefined || row.name !== database.role || row.free) {
    const message = `The database role ${row?.name ?? 'of this connection'} is not bound by row-level security: it must be ${database.role}, neither superuser nor bypassrls.`;
    throw new AppError({ code: 'internal', message });
  }
}

async function schemaVersion(database: Database): Promise<number> {
  const [known] = await database.query<{ known: boolean }>(
    { name: 'schema_known', text: "select to_regclass('tk.schema_migrations') is not null as known" },
    [],
  );
  if (known?.known !== true) return 0;
  const text = 'select coalesce(max(version), 0)::int as version from tk.schema_migrations';
  const [row] = await database.query<{ version: number }>({ name: 'schema_version', text }, []);
  return row?.version ?? 0;
}

async function ensureSchema(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select 1 from pg_namespace where nspname = 'tk'");
  if (rowCount === 0) await client.query('create schema tk authorization tk_owner');
  await client.query('set role tk_owner');
  await client.query(
    `create table if not exists tk.schema_migrations (
       version int primary key,
       name text not null,
       checksum text not null,
       applied_at timestamptz not null default clock_timestamp())`,
  );
  await client.query('alter table tk.schema_migrations add column if not exists oldest_program int not null default 0');
}

async function appliedVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    'select coalesce(max(version), 0)::int as version from tk.schema_migrations',
  );
  return rows[0]?.version ?? 0;
}

async function applyPending(client: pg.Client, log: Logger | undefined): Promise<string[]> {
  const migrations = await readMigrations();
  const { rows } = await client.query<{ version: number; name: string; checksum: string; oldest: number }>(
    'select version, name, checksum, oldest_program as oldest from tk.schema_migrations order by version',
  );
  for (const row of rows) {
    const known = migrations.find((migration) => migration.version === row.version);
    if (row.oldest > SCHEMA_RANGE.max) throw tooNew(row.version);
    // a newer program applied it, and says that this one may go on
    if (known === undefined && row.version > SCHEMA_RANGE.max) continue;
    if (known?.checksum !== row.checksum) {
      throw mismatch(
        `Migration ${row.name} was changed after it had been applied: put the old file back and add a new one.`,
      );
    }
  }
  const pending = migrations.filter((migration) => !rows.some((row) => row.version === migration.version));
  for (const migration of pending) {
    await applyOne(client, migration);
    log?.info({ migration: migration.name }, 'migration applied');
  }
  return pending.map((migration) => migration.name);
}

async function applyOne(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query(
      'insert into tk.schema_migrations (version, name, checksum, oldest_program) values ($1, $2, $3, $4)',
      [migration.version, migration.name, migration.checksum, migration.oldestProgram],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function readMigrations(): Promise<Migration[]> {
  const folder = new URL('../migrations/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => MIGRATION_FILE.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      const oldestProgram = Number(OLDEST_PROGRAM.exec(sql)?.[1] ?? 0);
      return { version: Number(name.slice(0, 4)), name, sql, checksum, oldestProgram };
    }),
  );
}

/** Slot s of a new map belongs to partition s mod P. A map that exists is kept: it changes online, by other means. */
async function seedSlots(client: pg.Client, partitions: number): Promise<void> {
  const { rowCount } = await client.query('select 1 from tk.slots limit 1');
  if (rowCount !== 0) return;
  await client.query('begin');
  await client.query('insert into tk.partitions (id) select generate_series(0, $1::int - 1)', [partitions]);
  await client.query(
    'insert into tk.slots (slot, partition_id) select s, s % $2::int from generate_series(0, $1::int - 1) s',
    [SLOT_COUNT, partitions],
  );
  await client.query('commit');
}

function tooNew(version: number): AppError {
  return mismatch(`The database has schema ${version}, this program knows ${SCHEMA_RANGE.max}: start a newer program.`);
}

function mismatch(message: string): AppError {
  return new AppError({ code: 'schema_mismatch', message });
}

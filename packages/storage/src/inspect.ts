import pg from 'pg';
import { toStoreError } from './store-error.ts';

/** What `turnkeeper doctor` wants to know of a database server. */
export interface DatabaseReport {
  /** `server_version_num`: 180004 is 18.4. */
  readonly versionNumber: number;
  readonly fsync: boolean;
  readonly synchronousCommit: string;
  /** Number of the last migration; 0 = there is no Turnkeeper schema. */
  readonly schemaVersion: number;
  /** Programs that know fewer migrations than this must not run on it (`SCHEMA_RANGE.max`); 0: any may. */
  readonly oldestProgram: number;
  /** Roles of services that row-level security does not bind: must be empty. */
  readonly unboundRoles: readonly string[];
  /** Tables with a tenant and without forced row-level security: must be empty. */
  readonly openTables: readonly string[];
}

type SchemaReport = Pick<DatabaseReport, 'schemaVersion' | 'oldestProgram'>;

const DEADLINE_MS = 5_000;

/** Looks at a server through the login of the URL; changes nothing. @throws StoreError */
export async function inspectDatabase(url: string): Promise<DatabaseReport> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'turnkeeper-doctor',
    connectionTimeoutMillis: DEADLINE_MS,
    options: `-c statement_timeout=${DEADLINE_MS} -c default_transaction_read_only=on`,
  });
  // the calls below fail with it; without a listener it would end the process
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Omit<DatabaseReport, keyof SchemaReport> & { migrated: boolean }>(REPORT);
    const [{ migrated, ...report } = EMPTY] = rows;
    return { ...report, ...(migrated ? await readSchema(client) : { schemaVersion: 0, oldestProgram: 0 }) };
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await client.end();
  }
}

async function readSchema(client: pg.Client): Promise<SchemaReport> {
  // through jsonb: the schema of an old program has no such column yet
  const { rows } = await client.query<SchemaReport>(
    `select max(version) as "schemaVersion",
            coalesce(max((to_jsonb(m) ->> 'oldest_program')::int), 0) as "oldestProgram"
       from tk.schema_migrations m`,
  );
  return rows[0] ?? { schemaVersion: 0, oldestProgram: 0 };
}

const EMPTY = {
  versionNumber: 0,
  fsync: false,
  synchronousCommit: '',
  unboundRoles: [],
  openTables: [],
  migrated: false,
};

const REPORT = `
  select current_setting('server_version_num')::int as "versionNumber",
         current_setting('fsync') = 'on' as fsync,
         current_setting('synchronous_commit') as "synchronousCommit",
         to_regclass('tk.schema_migrations') is not null as migrated,
         array(select rolname::text from pg_roles
                where rolname like 'tk\\_%' and rolname <> 'tk_owner' and (rolsuper or rolbypassrls)) as "unboundRoles",
         array(select c.relname::text from pg_class c
                 join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'tk'
                 join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
                where c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)) as "openTables"`;

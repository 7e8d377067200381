import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase } from './database.ts';
import { checkRoles, checkSchema, migrate, SCHEMA_RANGE } from './migrate.ts';

let server: pg.Client;
const made: string[] = [];

beforeAll(async () => {
  server = new pg.Client({ connectionString: inject('urls').postgres });
  await server.connect();
});
afterAll(async () => {
  for (const name of made) await server.query(`drop database if exists ${name} with (force)`);
  await server.end();
});

async function emptyDatabase(): Promise<string> {
  const name = `tk_migrate_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  made.push(name);
  const url = new URL(inject('urls').postgres);
  url.pathname = `/${name}`;
  return url.href;
}
async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
const engineOf = (url: string) => openDatabase({ url, role: 'tk_engine', poolMax: 1, applicationName: 'test' });

test('migrators of one database and of several at once apply every file once', async () => {
  const urls = [await emptyDatabase(), await emptyDatabase()];
  const results = await Promise.all([...urls, ...urls].map((url) => migrate({ url })));
  const files = (await readdir(new URL('../migrations/', import.meta.url))).sort();
  for (const i of [0, 1]) {
    const applied = [results[i]?.applied ?? [], results[i + 2]?.applied ?? []];
    expect(applied.filter((list) => list.length > 0)).toEqual([files]);
  }
  expect(SCHEMA_RANGE.max).toBe(Number(files.at(-1)?.slice(0, 4)));
  const [first] = urls;
  expect(await migrate({ url: first ?? '' })).toEqual({ version: SCHEMA_RANGE.max, applied: [] });
});

test('a new map has as many partitions as asked for; an old map is kept', async () => {
  const url = await emptyDatabase();
  await migrate({ url, partitions: 3 });
  await query(url, 'update tk.slots set partition_id = 2 where slot = 0');
  await migrate({ url, partitions: 16 });
  expect(await query(url, 'select count(*)::int n from tk.partitions')).toEqual([{ n: 3 }]);
  expect(await query(url, 'select partition_id from tk.slots where slot in (0, 1, 5) order by slot')).toEqual([
    { partition_id: 2 },
    { partition_id: 1 },
    { partition_id: 2 },
  ]);
});

test('a service is told in one sentence when the schema does not fit it', async () => {
  const url = await emptyDatabase();
  const engine = engineOf(url);
  await expect(checkSchema(engine)).rejects.toMatchObject({
    code: 'schema_mismatch',
    message: expect.stringContaining('turnkeeper migrate'),
  });
  await migrate({ url });
  await checkSchema(engine);
  await query(
    url,
    "insert into tk.schema_migrations (version, name, checksum, oldest_program) values (9999, '9999-later.sql', '', 9000)",
  );
  await expect(checkSchema(engine)).rejects.toMatchObject({
    code: 'schema_mismatch',
    message: expect.stringContaining('newer'),
  });
  await expect(migrate({ url })).rejects.toMatchObject({ code: 'schema_mismatch' });
  await query(url, 'delete from tk.schema_migrations where version > 10');
  await expect(checkSchema(engine)).rejects.toMatchObject({ code: 'schema_mismatch' });
  await engine.close();
});

test('a program serves a database that a newer one has migrated, unless a migration says that it may not', async () => {
  const url = await emptyDatabase();
  await migrate({ url });
  await query(url, "insert into tk.schema_migrations (version, name, checksum) values (9998, '9998-later.sql', '')");
  const engine = engineOf(url);
  await checkSchema(engine);
  expect(await migrate({ url })).toEqual({ version: 9998, applied: [] });
  await query(url, 'update tk.schema_migrations set oldest_program = 9998 where version = 9998');
  await expect(checkSchema(engine)).rejects.toMatchObject({ code: 'schema_mismatch' });
  await expect(migrate({ url })).rejects.toMatchObject({ code: 'schema_mismatch' });
  await engine.close();
});

test('a migration that was changed after it had been applied is refused', async () => {
  const url = await emptyDatabase();
  await migrate({ url });
  await query(url, "update tk.schema_migrations set checksum = 'x' where version = 1");
  await expect(migrate({ url })).rejects.toMatchObject({
    code: 'schema_mismatch',
    message: expect.stringContaining('0001'),
  });
});

test('a role that row-level security does not bind is refused', async () => {
  const url = await emptyDatabase();
  await migrate({ url });
  for (const role of ['tk_lookup', 'tk_api', 'tk_engine', 'tk_admin', 'tk_sweep'] as const) {
    const database = openDatabase({ url, role, poolMax: 1, applicationName: 'test' });
    await checkRoles(database);
    await database.close();
  }
  const free = openDatabase({
    url,
    role: 'tk_engine',
    poolMax: 1,
    applicationName: 'test',
    settings: { role: 'postgres' },
  });
  await expect(checkRoles(free)).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('row-level security'),
  });
  await free.close();
});

test('a login that is no superuser can migrate and serve, when it may make roles and owns the database', async () => {
  const url = new URL(await emptyDatabase());
  const login = `tk_login_${randomBytes(4).toString('hex')}`;
  await server.query(`create role ${login} login createrole password 'x'`);
  try {
    await server.query(`alter database ${url.pathname.slice(1)} owner to ${login}`);
    // roles that another login made: an administrator grants them, once
    for (const role of ['tk_owner', 'tk_lookup', 'tk_api', 'tk_engine', 'tk_admin', 'tk_sweep'])
      await server.query(`grant ${role} to ${login}`);
    url.username = login;
    url.password = 'x';
    await migrate({ url: url.href });
    const engine = engineOf(url.href);
    await checkSchema(engine);
    await checkRoles(engine);
    await engine.close();
  } finally {
    await server.query(`drop database ${url.pathname.slice(1)} with (force)`);
    await server.query(`drop role ${login}`);
  }
});

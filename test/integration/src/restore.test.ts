/** A rehearsal of docs/operations.md, Restore: a copy is made under load, the world goes on, the copy is restored. */
import { spawnSync } from 'node:child_process';
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { checkInvariants, openDatabase } from '@turnkeeper/storage';
import { type Cluster, type FakeServer, startCluster, startFakeServer, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

const SET_ASIDE = new URL('../../../deploy/restore/set-aside.sql', import.meta.url);

interface Send {
  readonly runId: string;
  readonly deliveryId: string;
  readonly text: string;
  readonly recovered: boolean;
}

/** Opened once the copy is made: until then the model thinks, and the receiver holds what begins with `held`. */
const copied = Promise.withResolvers<void>();
const sends: Send[] = [];
let copy: string;
let services: LocalServices;
let world: FakeServer;
let cluster: Cluster;
let key: string;

beforeAll(async () => {
  copy = join(await mkdtemp(join(tmpdir(), 'turnkeeper-copy-')), 'data');
  services = await startLocalServices({ need: ['postgres'], env: {}, prefer: 'program' });
  world = await startFakeServer(async ({ path, body }, response) => {
    const asked = JSON.parse(body);
    if (path === '/in') {
      if (asked.text.startsWith('held')) await copied.promise;
      sends.push(asked);
      response.end();
      return;
    }
    await copied.promise;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [content, end] of [
      [asked.messages.at(-1).content, null],
      ['', 'stop'],
    ])
      response.write(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: end }] })}\n\n`,
      );
    response.end('data: [DONE]\n\n');
  });
  cluster = await startCluster({ urls: { ...inject('urls'), postgres: services.urls.postgres }, mode: 'inline' });
  const options = { verify: 'hmac-sha256-header', header: 'x-sig', replyUrl: `${world.url}/in` };
  const openai = { baseUrl: `${world.url}/v1`, model: 'm', apiKey: 'none' };
  const account = { channel: 'webhook', options, secrets: { secret: 'not asked for here' } };
  key = await cluster.putTenant({
    name: 'acme',
    agents: [
      { name: 'main', runtime: 'echo' },
      { name: 'thinks', runtime: 'openai', openai },
    ],
    accounts: [
      { name: 'echoes', agent: 'main', ...account },
      { name: 'thinks', agent: 'thinks', ...account },
    ],
  });
});
afterAll(async () => {
  copied.resolve();
  await cluster?.[Symbol.asyncDispose]();
  await world?.close();
  await services?.stop();
  await rm(join(copy, '..'), { recursive: true });
});

async function send(text: string, accountId = 'echoes', sessionKey = text): Promise<string> {
  const { status, json } = await cluster.api('/v1/messages', { key, body: { sessionKey, text, accountId } });
  expect(status).toBe(202);
  return json.runId;
}
const runOf = async (runId: string) => (await cluster.api(`/v1/runs/${runId}`, { key })).json;
const untilSent = (...texts: string[]) =>
  until(`${texts} are sent`, () => texts.every((text) => sends.some((one) => one.text === text)), 60_000);

async function asRoot<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A base backup: the files, copied between two calls while the server goes on writing them. Returns where they were. */
async function baseBackup(): Promise<string> {
  return asRoot(services.urls.postgres, async (client) => {
    const { rows } = await client.query<{ folder: string }>("select current_setting('data_directory') as folder");
    const folder = rows[0]?.folder ?? '';
    await client.query("select pg_backup_start('rehearsal', true)");
    // as it warns, files come and go meanwhile: what is replayed from the log makes up for them
    spawnSync('cp', ['-a', folder, copy]);
    const { rows: ended } = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(false)',
    );
    // and so the log itself comes last, with the end of the copying in it
    spawnSync('cp', ['-a', join(folder, 'pg_wal'), copy]);
    const label = join(copy, 'backup_label');
    await writeFile(label, ended[0]?.label ?? '');
    const { uid, gid } = await stat(folder);
    await chown(label, uid, gid);
    await rm(join(copy, 'postmaster.pid'));
    return folder;
  });
}

async function restore(folder: string): Promise<void> {
  for (const node of cluster.nodes) node.signal('SIGKILL');
  await Promise.all(cluster.nodes.map((node) => node.exited));
  await services.stopService('postgres', 'immediate');
  await rm(folder, { recursive: true });
  spawnSync('cp', ['-a', copy, folder]);
  await services.startService('postgres');
  const setAside = await readFile(SET_ASIDE, 'utf8');
  await asRoot(cluster.postgresUrl, (client) => client.query(setAside));
  for (const kind of ['ingress', 'session-worker', 'coordinator'] as const) await cluster.add(kind);
}

test('a copy made under load is restored: nothing is sent twice without its mark, and what was in flight is set aside', async () => {
  const done = await send('done');
  await untilSent('done');
  const held = await send('held', 'echoes', 'one after another');
  const behind = await send('behind', 'echoes', 'one after another');
  const running = await send('running', 'thinks');
  const queued = await send('queued', 'thinks', 'running');
  await until('a turn runs', async () => (await runOf(running)).status === 'running');
  await until(
    'two replies are owed',
    async () => (await runOf(held)).status === 'ok' && (await runOf(behind)).status === 'ok',
  );

  const folder = await baseBackup();
  copied.resolve();
  await untilSent('held', 'behind', 'running', 'queued');
  const later = await send('later');
  await untilSent('later');
  const before = sends.length;

  await restore(folder);
  await until('both replies came again', () => sends.length >= before + 2, 60_000);
  expect(await runOf(done)).toMatchObject({ status: 'ok' });
  for (const run of [running, queued])
    expect(await runOf(run)).toMatchObject({ status: 'parked', error: { code: 'poison' } });
  expect((await cluster.api(`/v1/runs/${later}`, { key })).status).toBe(404);
  await send('afterwards', 'echoes', 'one after another');
  await untilSent('afterwards');
  expect(sends.slice(before).map(({ text, recovered }) => ({ text, recovered }))).toEqual([
    { text: 'held', recovered: true },
    { text: 'behind', recovered: true },
    { text: 'afterwards', recovered: false },
  ]);
  expect(new Set(sends.filter(({ runId }) => runId === held).map(({ deliveryId }) => deliveryId)).size).toBe(1);

  const database = openDatabase({ url: cluster.postgresUrl, role: 'tk_sweep', poolMax: 1, applicationName: 'test' });
  expect(await checkInvariants(database, new Date(0)).finally(() => database.close())).toMatchObject({
    violations: [],
  });
}, 180_000);

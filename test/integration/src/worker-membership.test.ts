/** Workers that come, leave and die while messages arrive. */
import { randomBytes } from 'node:crypto';
import {
  type Cluster,
  type FakeOpenAi,
  type FakePlatform,
  type NodeProcess,
  startCluster,
  startFakeOpenAi,
  startFakePlatform,
  until,
} from '@turnkeeper/test-harness';
import pg from 'pg';
import { afterEach, expect, inject, onTestFinished, test } from 'vitest';

let cluster: Cluster;
afterEach(() => cluster?.[Symbol.asyncDispose]());

const newKey = () => randomBytes(6).toString('hex');

async function start(options: { readonly workers: number; readonly delayMs: number; readonly drainMs?: number }) {
  cluster = await startCluster({
    ...{ urls: inject('urls'), workers: options.workers, mode: 'inline' },
    env: { TURNKEEPER_DRAIN_TIMEOUT_MS: String(options.drainMs ?? 20_000) },
  });
  const agents = [{ name: 'main', runtime: 'echo', echo: { delayMs: options.delayMs } }];
  return cluster.putTenant({ name: 'acme', agents });
}

const send = (key: string, sessionKey: string, text: string) => post(key, { sessionKey, text });

async function post(key: string, body: object): Promise<string> {
  const { status, json } = await cluster.api('/v1/messages', { body, key });
  expect(status).toBe(202);
  return json.runId;
}

const agentOf = (model: FakeOpenAi) => ({
  ...{ name: 'main', runtime: 'openai' },
  openai: { baseUrl: `${model.url}/v1`, model: 'm' },
});

const hookTo = (platform: FakePlatform) => ({
  ...{ name: 'hook', agent: 'main', channel: 'webhook' },
  options: {
    ...{ verify: 'hmac-sha256-header', header: 'x-hub-signature-256', prefix: 'sha256=' },
    ...{ idHeader: 'x-github-delivery', template: '{{text}}', replyUrl: `${platform.url}/in` },
  },
  secrets: { secret: 'membership-secret-of-a-test' },
});

const runOf = async (key: string, runId: string, wait = 0) =>
  (await cluster.api(`/v1/runs/${runId}?wait=${wait}`, { key })).json;

/** The worker that runs a turn. */
async function busyWorker(): Promise<NodeProcess | undefined> {
  for (const worker of cluster.workers) {
    const metrics = await (await fetch(`${worker.internalUrl}/metrics`)).text();
    if (/^turnkeeper_turns_running 1$/m.test(metrics)) return worker;
  }
  return undefined;
}

/** Who owns how many partitions. */
async function owners(): Promise<Map<string, number>> {
  const { json } = await cluster.admin('/admin/v1/partitions?limit=200');
  const count = new Map<string, number>();
  for (const { owner } of json.data as { owner: string | null }[]) {
    if (owner !== null) count.set(owner, (count.get(owner) ?? 0) + 1);
  }
  return count;
}

async function untilShared(workers: number): Promise<void> {
  await until(`${workers} workers share all partitions`, async () => {
    const count = await owners();
    return count.size === workers && [...count.values()].reduce((sum, each) => sum + each, 0) === 16;
  });
}

/** Messages to many conversations, `perLane` to each, for as long as `meanwhile` lasts; returns the runs by conversation. */
async function flood(key: string, meanwhile: () => Promise<void>): Promise<string[][]> {
  const lanes = Array.from({ length: 12 }, newKey);
  const runs = lanes.map((): string[] => []);
  let isOver = false;
  const ended = meanwhile().finally(() => {
    isOver = true;
  });
  for (let n = 0; !isOver || n < 5; n++) {
    const batch = await Promise.all(lanes.map((lane) => send(key, lane, `message ${n}`)));
    for (const [i, run] of batch.entries()) runs[i]?.push(run);
  }
  await ended;
  return runs;
}

async function expectAllAnswered(key: string, runs: readonly string[][]): Promise<void> {
  for (const lane of runs) {
    const last = lane.at(-1);
    if (last === undefined) throw new Error('a lane without runs');
    await runOf(key, last, 55);
    for (const [n, runId] of lane.entries()) {
      expect(await runOf(key, runId)).toMatchObject({ status: 'ok', reply: { text: `message ${n}` }, attempts: 1 });
    }
  }
}

test('a worker that joins gets its share, and one that leaves gives it back; nothing is run twice', async () => {
  const key = await start({ workers: 1, delayMs: 20 });
  const runs = await flood(key, async () => {
    const newcomer = await cluster.add('session-worker');
    await untilShared(2);
    newcomer.signal('SIGTERM');
    expect(await newcomer.exited).toBe(0);
    await untilShared(1);
  });
  await expectAllAnswered(key, runs);
}, 120_000);

test('two rollouts within one long turn: it is handed back, runs again elsewhere, twice, and ends well without a strike', async () => {
  const [model, platform] = await Promise.all([startFakeOpenAi(), startFakePlatform()]);
  onTestFinished(async () => void (await Promise.all([model.close(), platform.close()])));
  const key = await start({ workers: 2, delayMs: 0, drainMs: 200 });
  await cluster.putTenant({ name: 'acme', key, agents: [agentOf(model)], accounts: [hookTo(platform)] });
  // a turn that no drain can wait for, until it has been cut off twice
  model.script({ hang: true }, { hang: true }, { say: 'at last' }, { say: 'and then' });
  const body = { accountId: 'hook', sessionKey: newKey() };
  const [long, next] = [await post(key, { ...body, text: 'long' }), await post(key, { ...body, text: 'next' })];
  for (const rollout of [1, 2]) {
    await until(`try ${rollout} runs`, () => model.requests.length === rollout, 60_000);
    const leaving = await until('a worker runs it', () => busyWorker());
    leaving.signal('SIGTERM');
    expect(await leaving.exited).toBe(0);
    await leaving.restart();
  }
  expect(await runOf(key, long, 55)).toMatchObject({ status: 'ok', attempts: 3, reply: { text: 'at last' } });
  expect(await runOf(key, next, 55)).toMatchObject({ status: 'ok', attempts: 1, reply: { text: 'and then' } });
  await until('both replies', () => platform.sends.length >= 2);
  expect(platform.sends.map(({ body: { text, recovered } }) => ({ text, recovered }))).toEqual([
    { text: 'at last', recovered: false },
    { text: 'and then', recovered: false },
  ]);
  const { json } = await cluster.admin('/admin/v1/lanes?limit=10');
  expect(json.data).toMatchObject([{ resumes: 0, suspended: false }]);
}, 180_000);

test('a killed worker’s lanes go on with the others', async () => {
  const key = await start({ workers: 2, delayMs: 200 });
  const lanes = Array.from({ length: 12 }, newKey);
  const runs = await Promise.all(lanes.map((lane) => send(key, lane, 'first')));
  const victim = cluster.workers[0] as NodeProcess;
  victim.signal('SIGKILL');
  const later = await Promise.all(lanes.map((lane) => send(key, lane, 'second')));
  for (const runId of [...runs, ...later]) expect(await runOf(key, runId, 55)).toMatchObject({ status: 'ok' });
}, 120_000);

test('a worker that is declared dead ends itself, and its turns are run by others once', async () => {
  const key = await start({ workers: 2, delayMs: 1_000 });
  const lanes = Array.from({ length: 12 }, newKey);
  const runs = await Promise.all(lanes.map((lane) => send(key, lane, 'hello')));
  await until('turns run', async () => (await cluster.metric('session-worker', 'turnkeeper_turns_running')) === 12);
  const [condemned] = cluster.workers;
  const database = new pg.Client({ connectionString: cluster.postgresUrl });
  await database.connect();
  await database.query('update tk.workers set state = 3 where boot_id = $1', [condemned?.bootId]);
  await until('it has ended', () => condemned?.alive === false);
  for (const runId of runs)
    expect(await runOf(key, runId, 55)).toMatchObject({ status: 'ok', reply: { text: 'hello' } });
  const { rows } = await database.query('select run_id from tk.messages');
  expect(new Set(rows.map(({ run_id }) => run_id)).size).toBe(rows.length);
  await database.end();
}, 120_000);

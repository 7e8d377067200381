import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../services/cli/bin/turnkeeper', import.meta.url));
const START = { timeout: 90_000, interval: 100 };
const NAMES = ['coordinator-1', 'ingress-1', 'nats', 'postgres', 'redis', 'session-worker-1'];

interface Report {
  readonly ingress: readonly string[];
  readonly internal: readonly string[];
  readonly apiKey: string;
  readonly operatorKey: string;
  readonly tenant: string;
  readonly hook: { readonly url: string; readonly secret: string };
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly natsUrl: string;
  readonly processes: readonly {
    readonly name: string;
    readonly pid: number;
    readonly bootId?: string;
    readonly internal?: string;
  }[];
}

let dataDir = '';
/** What the first start has said. */
let kept: Report;
const started: ChildProcess[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tk-up-'));
  await chmod(dataDir, 0o711);
});
afterEach(() => {
  for (const up of started.splice(0)) up.kill('SIGKILL');
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

function up(...args: string[]) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TURNKEEPER_')));
  const child = spawn(PROGRAM, ['up', '--data', dataDir, '--workers', '1', '--coordinators', '1', '--json', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const heard = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    heard.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    heard.err += chunk;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const ready = async (): Promise<Report> => {
    const started = () => heard.out.endsWith('\n') || heard.err.includes('✗');
    await vi.waitFor(() => expect(started(), heard.err).toBe(true), START);
    if (heard.out === '') throw new Error(heard.err);
    return JSON.parse(heard.out);
  };
  return { child, heard, ended, ready };
}

/** Each start is a whole cluster, so the tests go on with what the one before has left: that is their order. */
describe('turnkeeper up', () => {
  it('refuses a given port that is taken before it starts anything', async () => {
    const taken = createServer().listen(0);
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const refused = up('--port', String(port));
    expect(await refused.ended).toBe(1);
    expect(refused.heard).toMatchObject({ out: '', err: expect.stringContaining(`Port ${port} is taken`) });
    taken.close();
  }, 60_000);

  it('says where everything is, starts what dies again, and leaves nothing behind after Ctrl-C', async () => {
    const { child, ended, ready, heard } = up();
    const report = await ready();
    kept = report;
    expect(heard.out.trim().split('\n')).toHaveLength(1);
    expect(report).toEqual(await upFile());
    expect(report.tenant).toBe('demo');
    expect(report.hook.url).toBe(`${report.ingress[0]}/hooks/demo.demo-hook`);
    expect(report.processes.map(({ name }) => name).sort()).toEqual(NAMES);
    expect((await get(`${report.ingress[0]}/v1/agents`, report.apiKey)).status).toBe(200);
    expect((await get(`${report.internal[0]}/admin/v1/tenants/demo`, report.operatorKey)).status).toBe(200);

    await expectInUse();
    await expectRefusedToAgents(report);
    await killAndAwaitSuccessor(report, 'session-worker-1');
    await killAndAwaitSuccessor(report, 'ingress-1');
    expect((await get(`${report.ingress[0]}/v1/agents`, report.apiKey)).status).toBe(200);
    process.kill(find(report, 'postgres').pid, 'SIGKILL');
    await expect.poll(async () => (await get(`${report.ingress[0]}/v1/runs`, report.apiKey)).status, START).toBe(200);

    const last = await upFile();
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(last.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(heard.err.trim().split('\n').at(-1)).toContain('✓ stopped');
    expect(existsSync(join(dataDir, 'up.json'))).toBe(false);
  }, 240_000);

  it('keeps keys and data for the next start, and takes everything along when it is killed', async () => {
    const second = up();
    const after = await second.ready();
    expect(after).toMatchObject({
      apiKey: kept.apiKey,
      operatorKey: kept.operatorKey,
      hook: { secret: kept.hook.secret },
    });
    expect((await get(`${after.ingress[0]}/v1/agents`, kept.apiKey)).status).toBe(200);
    second.child.kill('SIGKILL');
    await expect.poll(() => after.processes.filter(({ pid }) => isAlive(pid)), START).toEqual([]);
    const third = up();
    expect((await third.ready()).apiKey).toBe(kept.apiKey);
    third.child.kill('SIGTERM');
    expect(await third.ended).toBe(0);
  }, 240_000);
});

/** A second start on the folder is refused, and does the first one no harm. */
async function expectInUse(): Promise<void> {
  const refused = up();
  expect(await refused.ended).toBe(1);
  expect(refused.heard.err).toContain('runs already');
  expect(refused.heard.err).toContain('npm start -- --data <folder>');
}

/** The stores and every internal listener: agents of tenants may call this machine, but not these. */
async function expectRefusedToAgents({ ingress, apiKey, internal, processes, ...stores }: Report): Promise<void> {
  const inner = processes.flatMap((process) => process.internal ?? []);
  expect(inner).toHaveLength(3);
  expect(inner).toContain(internal[0]);
  const ports = [stores.postgresUrl, stores.redisUrl, stores.natsUrl, ...inner].map((url) => new URL(url).port);
  for (const port of ports) {
    const openai = { baseUrl: `http://127.0.0.1:${port}/v1`, model: 'm' };
    const name = `at-${port}`;
    expect((await post(`${ingress[0]}/v1/agents`, apiKey, { name, runtime: 'openai', openai })).status).toBe(201);
    const said = { agentId: name, sessionKey: name, text: 'hello' };
    const accepted = await post(`${ingress[0]}/v1/messages`, apiKey, said);
    const { runId }: { readonly runId: string } = JSON.parse(await accepted.text());
    const run = await (await get(`${ingress[0]}/v1/runs/${runId}?wait=50`, apiKey)).json();
    expect(run).toMatchObject({ status: 'error', error: { code: 'egress_blocked' } });
  }
}

async function killAndAwaitSuccessor(report: Report, name: string): Promise<void> {
  const { pid, bootId } = find(report, name);
  process.kill(pid, 'SIGKILL');
  const successor = async () => {
    const now = find(await upFile(), name);
    return now.pid > 0 && now.pid !== pid && now.bootId !== bootId;
  };
  await expect.poll(successor, START).toBe(true);
}

async function upFile(): Promise<Report> {
  return JSON.parse(await readFile(join(dataDir, 'up.json'), 'utf8'));
}

function find({ processes }: Report, name: string): { pid: number; bootId?: string } {
  return processes.find((one) => one.name === name) ?? { pid: 0 };
}

function get(url: string, key: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${key}` } });
}

function post(url: string, key: string, body: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LocalServices, type LocalServicesOptions, startLocalServices } from '@turnkeeper/platform/local-services';
import { inspectDatabase, migrate, SCHEMA_RANGE } from '@turnkeeper/storage';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('./local-services.fixture.ts', import.meta.url));
const SOON = { timeout: 15_000 };
const ALL = ['postgres', 'redis', 'nats'] as const;
let folder = '';
const begun: LocalServices[] = [];
const parents: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tk-local-services-'));
  await chmod(folder, 0o711);
});
afterEach(async () => {
  for (const parent of parents.splice(0)) parent.kill('SIGKILL');
  for (const services of begun.splice(0)) await services.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(options: Partial<LocalServicesOptions> = {}): Promise<LocalServices> {
  const services = await startLocalServices({ need: ALL, env: {}, prefer: 'program', ...options });
  begun.push(services);
  return services;
}

describe('services of one’s own', () => {
  it('are real ones on loopback, with durable settings, and two sets do not meet', async () => {
    const [a, b] = await Promise.all([start(), start()]);
    expect(await inspectDatabase(a.urls.postgres)).toMatchObject({ fsync: true, synchronousCommit: 'on' });
    expect(await ask(a.urls.redis, 'PING')).toContain('+PONG');
    expect(await ask(a.urls.nats, '')).toContain('INFO ');
    const urls = ALL.flatMap((name) => [a.urls[name], b.urls[name]]);
    expect(new Set(urls).size).toBe(urls.length);
    for (const url of urls) expect(new URL(url).hostname).toBe('127.0.0.1');
    await migrate({ url: a.urls.postgres });
    expect((await inspectDatabase(b.urls.postgres)).schemaVersion).toBe(0);
  });

  it('come back on their port with their data after an immediate stop', async () => {
    const services = await start({ need: ['postgres'] });
    await migrate({ url: services.urls.postgres });
    await services.stopService('postgres', 'immediate');
    expect(services.processes).toEqual([]);
    await expect(inspectDatabase(services.urls.postgres)).rejects.toMatchObject({ code: 'store_unavailable' });
    await services.startService('postgres');
    expect((await inspectDatabase(services.urls.postgres)).schemaVersion).toBe(SCHEMA_RANGE.max);
  });

  it('can be absent and return, and one that dies is told of', async () => {
    const died: string[] = [];
    const services = await start({ need: ['redis', 'nats'], onDied: (name) => died.push(name) });
    await services.stopService('redis');
    await expect(ask(services.urls.redis, 'PING')).rejects.toThrow();
    await services.startService('redis');
    expect(await ask(services.urls.redis, 'PING')).toContain('+PONG');
    expect(died).toEqual([]);
    process.kill(pidOf(services, 'nats'), 'SIGKILL');
    await expect.poll(() => died, SOON).toEqual(['nats']);
    await services.startService('nats');
    expect(await ask(services.urls.nats, '')).toContain('INFO ');
  });

  it('end with a parent that is killed, and a new start finds their data, whatever the lock file says', async () => {
    const dataDir = join(folder, 'killed');
    const parent = spawn(process.execPath, [FIXTURE, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
    parents.push(parent);
    if (!parent.stdout) throw new Error('no output');
    const [line] = await once(parent.stdout, 'data');
    const { urls, processes } = JSON.parse(String(line)) as Pick<LocalServices, 'urls' | 'processes'>;
    expect(processes).toHaveLength(3);
    await migrate({ url: urls.postgres });
    parent.kill('SIGKILL');
    await expect.poll(() => processes.filter(({ pid }) => isAlive(pid)), SOON).toEqual([]);
    // as if another process had the pid of the killed server by now
    const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
    const lines = (await readFile(lockFile, 'utf8').catch(() => '0\n')).split('\n');
    await writeFile(lockFile, [String(process.pid), ...lines.slice(1)].join('\n'));
    const again = await start({ dataDir });
    expect((await inspectDatabase(again.urls.postgres)).schemaVersion).toBe(SCHEMA_RANGE.max);
  });

  it('are not started where the environment names others', async () => {
    const env = { TURNKEEPER_REDIS_URL: 'redis://somewhere:1', TURNKEEPER_NATS_URL: 'nats://somewhere:2' };
    const services = await start({ need: ['redis', 'nats'], env });
    expect(services).toMatchObject({
      urls: { redis: 'redis://somewhere:1', nats: 'nats://somewhere:2' },
      sources: { redis: 'url', nats: 'url' },
      processes: [],
    });
    expect(() => services.stopService('redis')).toThrow('redis was not started here');
  });

  it('say in one sentence that a database made in Docker needs Docker', async () => {
    const dataDir = join(folder, 'docker');
    const services = await start({ dataDir, need: [] });
    await services.stop();
    const stateFile = join(dataDir, 'services.json');
    const state = JSON.parse(await readFile(stateFile, 'utf8'));
    await writeFile(stateFile, JSON.stringify({ ...state, sources: { postgres: 'docker' } }));
    await expect(start({ dataDir, need: ['postgres'] })).rejects.toThrow(/^The database of .* is in Docker/);
  });
});

function pidOf(services: LocalServices, name: string): number {
  return services.processes.find((one) => one.name === name)?.pid ?? 0;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ANSWER_MS = 5000;

/** Writes a line to the server of a URL, after its password, and resolves with what comes back. */
function ask(address: string, line: string): Promise<string> {
  const url = new URL(address);
  const auth = url.password === '' ? '' : `AUTH ${url.password}\r\n`;
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(url.port), url.hostname, () => socket.write(`${auth}${line}\r\n`));
    const timer = setTimeout(() => socket.destroy(), ANSWER_MS);
    socket.on('data', (chunk) => {
      answer += chunk;
      if (/PONG|INFO /.test(answer)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

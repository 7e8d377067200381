import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProcessMessage } from './index.ts';

const FIXTURE = fileURLToPath(new URL('./run-process.fixture.ts', import.meta.url));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [FIXTURE], {
    env: { PATH: '/usr/bin:/bin', TURNKEEPER_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  const heard = { out: '', err: '', messages: [] as ProcessMessage[] };
  child.stdout?.on('data', (chunk) => {
    heard.out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    heard.err += chunk;
  });
  child.on('message', (message) => heard.messages.push(message as ProcessMessage));
  return {
    child,
    heard,
    first: once(child, 'message').then(([message]) => message as ProcessMessage),
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
}

describe('runProcess', { timeout: 60_000 }, () => {
  it('tells its parent when it is ready, answers probes, drains on SIGTERM and leaves with 0', async () => {
    const { child, heard, first, ended } = start({ FIXTURE_MODE: 'serves' });
    const ready = await first;
    if (ready.type !== 'ready') throw new Error(`not ready: ${ready.message}`);
    expect(ready.bootId).toMatch(/^[0-9a-f-]{36}$/);
    const answers = await Promise.all(
      ['healthz', 'readyz', 'metrics', 'other'].map((path) => get(`http://127.0.0.1:${ready.internalPort}/${path}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404]);
    expect(answers[2]?.body).toContain('turnkeeper_build_info{service="fixture",version=');
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(heard.out).toBe('draining\nfinished\ndisposed\n');
  });

  it('hands back when the drain deadline is over', async () => {
    const { child, heard, first, ended } = start({
      FIXTURE_MODE: 'serves',
      FIXTURE_DRAIN_MS: '60000',
      TURNKEEPER_DRAIN_TIMEOUT_MS: '10',
    });
    await first;
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(heard.out).toContain('handed back');
  });

  it('hands back at once on a second signal', async () => {
    const { child, heard, first, ended } = start({ FIXTURE_MODE: 'serves', FIXTURE_DRAIN_MS: '60000' });
    await first;
    child.kill('SIGTERM');
    await expect.poll(() => heard.out).toContain('draining');
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(heard.out).toContain('handed back');
  });

  it('says in one sentence why it cannot start', async () => {
    const failing = start({ FIXTURE_MODE: 'fails' });
    expect(await failing.ended).toBe(1);
    expect(failing.heard.err).toBe('fixture: Run turnkeeper migrate.\n');
    expect(failing.heard.messages).toEqual([
      { type: 'fatal', code: 'schema_mismatch', message: 'fixture: Run turnkeeper migrate.' },
    ]);
    const unconfigured = start({});
    expect(await unconfigured.ended).toBe(1);
    expect(unconfigured.heard.err).toContain('FIXTURE_MODE must be set');
  });

  it('skips the drain but closes its parts when it may not go on', async () => {
    const { heard, ended } = start({ FIXTURE_MODE: 'loses-lease' });
    expect(await ended).toBe(1);
    expect(heard.out).toContain('disposed');
    expect(heard.out).not.toContain('draining');
  });

  it('ends on an uncaught error without repeating its text', async () => {
    const { heard, ended } = start({ FIXTURE_MODE: 'throws' });
    expect(await ended).toBe(1);
    expect(heard.out + heard.err).toContain('SyntaxError');
    expect(heard.out + heard.err).not.toContain('secret text');
  });

  it('ends when its parent is gone', async () => {
    const { child, first } = start({ FIXTURE_MODE: 'serves' });
    await first;
    const exited = once(child, 'exit');
    child.disconnect();
    expect(await exited).toEqual([1, null]);
  });

  it('ends with code 70 when a part of it is in trouble for too long, and is not ready before', async () => {
    const { heard, first, ended } = start({ FIXTURE_MODE: 'stuck', TURNKEEPER_STUCK_MS: '8000' });
    const ready = await first;
    if (ready.type !== 'ready') throw new Error(`not ready: ${ready.message}`);
    await expect.poll(() => stateOf(ready.internalPort), { timeout: 20_000 }).toBe('503 stuck');
    expect(await ended).toBe(70);
    expect(heard.err).toContain('client: closed for good for 8 s');
    expect(heard.out).toContain('disposed');
    expect(heard.out).not.toContain('draining');
  });

  it('ends with code 70 when its event loop stands still, and says where', async () => {
    const { heard, ended } = start({ FIXTURE_MODE: 'blocked', TURNKEEPER_LOOP_BLOCKED_MS: '500' });
    expect(await ended).toBe(70);
    expect(heard.out).toContain('the event loop stands still');
    expect(heard.out).toContain('standStill');
  });

  it('is not blamed for a while in which the whole process was stopped', async () => {
    const { child, first, ended } = start({ FIXTURE_MODE: 'serves', TURNKEEPER_LOOP_BLOCKED_MS: '3000' });
    await first;
    child.kill('SIGSTOP');
    await sleep(4_000);
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  it('leaves even when something holds the event loop open', async () => {
    const { child, first, ended } = start({ FIXTURE_MODE: 'holds-loop' });
    await first;
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

async function stateOf(port: number): Promise<string> {
  const { status, body } = await get(`http://127.0.0.1:${port}/readyz`);
  return `${status} ${body.trim()}`;
}

async function get(url: string): Promise<{ status: number; body: string }> {
  const { request } = await import('undici');
  const answer = await request(url);
  return { status: answer.statusCode, body: await answer.body.text() };
}

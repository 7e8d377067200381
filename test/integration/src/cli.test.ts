/**
 * The command line against a running cluster. Most lines run in one process that stays (`cli-host.fixture.ts`), because to
 * start the program costs more than what it does; exit codes, signals and pipes are those of the program as people run it.
 */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../services/cli/src/main.ts', import.meta.url));
const HOST = fileURLToPath(new URL('./cli-host.fixture.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tk-cli-'));
let cluster: Cluster;
let host: ChildProcess;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1, mode: 'inline' });
  host = fork(HOST, { serialization: 'json' });
});
afterAll(async () => {
  host.disconnect();
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function environment(over: Readonly<Record<string, string>> = {}) {
  const [ingress] = cluster.ingress;
  return {
    PATH: process.env['PATH'],
    TURNKEEPER_URL: ingress?.url,
    TURNKEEPER_KEY: cluster.apiKey,
    TURNKEEPER_ADMIN_URL: ingress?.internalUrl,
    TURNKEEPER_OPERATOR_KEY: cluster.operatorKey,
    ...over,
  };
}

/** Runs a command line to its end, `input` on its standard input. One at a time. */
async function run(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const ended = once(host, 'message');
  host.send({ args, input, env: environment(env) });
  const [answer] = await ended;
  return answer;
}

/** The same as a process of its own. */
function runProgram(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], { env: environment(env) }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
    child.stdin?.end(input);
  });
}

const rows = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const newName = (kind: string) => `${kind}-${randomBytes(4).toString('hex')}`;

describe('tail', () => {
  test('tells what happened in a conversation after a seq, and ends when it has told enough', async () => {
    const session = newName('tailed');
    expect((await run(['chat', '--session', session], 'hello there\n')).code).toBe(0);
    const args = ['tail', session, '--after', '0', '--types', 'message.created,turn.finished'];
    const told = await run([...args, '--count', '5', '--output', 'ndjson']);
    expect(told).toMatchObject({ code: 0, err: '' });
    expect(rows(told.out).map(({ type, data }) => [type, data.role, data.text ?? data.status])).toEqual(
      expect.arrayContaining([
        ['message.created', 'user', 'hello there'],
        ['message.created', 'assistant', 'hello there'],
        ['turn.finished', undefined, 'ok'],
      ]),
    );
    const table = await run([...args, '--count', '5']);
    expect(table.out).toMatch(/ turn\.finished +ok$/m);
  });

  test('ends with what it is refused', async () => {
    expect(await runProgram(['tail', 'nothing-here'])).toMatchObject({
      code: 1,
      err: 'no such session (session_not_found)\n',
    });
    const env = { TURNKEEPER_KEY: `tk_${'0'.repeat(16)}_${'0'.repeat(32)}` };
    expect((await runProgram(['tail', 'nothing-here'], '', env)).code).toBe(5);
    expect((await runProgram(['tail', '--count', 'x'])).code).toBe(2);
  });
});

describe('chat', () => {
  test('brings a file with its first message, and names those of a reply', async () => {
    const session = newName('talk');
    const path = fileURLToPath(import.meta.url);
    const { code, out } = await run(['chat', '--session', session, '--attach', path], 'look\nand now\n');
    expect([code, out]).toEqual([0, expect.stringMatching(/^look\n\[file cli\.test\.ts: att_\w{26}\]\nand now\n$/)]);
    expect(await run(['chat', '--attach', '/nowhere/x'], 'x\n')).toMatchObject({ code: 2, out: '' });
  });

  test('from a pipe answers each line in order and ends with its input', async () => {
    const session = newName('talk');
    const { code, out, err } = await runProgram(['chat', '--session', session], 'hello there\n\nand again\n');
    expect({ code, out, err }).toEqual({ code: 0, out: 'hello there\nand again\n', err: '' });
    const history = await cluster.api(`/v1/sessions/${session}/history`);
    expect(history.json.data.map((entry: { text: string }) => entry.text)).toEqual([
      ...['hello there', 'hello there', 'and again', 'and again'],
    ]);
  });

  test('tells what the agent asks, and takes the next line for the answer', async () => {
    const asked = await run(['chat'], '[[ask Which city?]]\nParis\nand now\n');
    expect(asked).toEqual({ code: 0, out: 'Which city?\nParis\nand now\n', err: '' });
  });

  test('names the run that waits when nobody answers, and begins with its question when it is gone on with', async () => {
    const session = newName('talk');
    const left = await run(['chat', '--session', session], '[[ask Which city?]]\n');
    expect(left).toMatchObject({ code: 1, out: 'Which city?\n' });
    const [runId] = /run_\w{26}/.exec(left.err) ?? [];
    expect((await run(['runs', 'get', String(runId)])).out).toMatch(/^input\.prompt +Which city\?$/m);
    const taken = await run(['chat', '--session', session], 'Paris\n');
    expect(taken).toEqual({ code: 0, out: 'Which city?\nParis\n', err: '' });
    const late = await run(['runs', 'answer', String(runId), 'Rome']);
    expect([late.code, late.err]).toEqual([1, 'The run waits for no answer: it is ok.\n']);
  });

  test('an answer from elsewhere lets the run go on', async () => {
    const session = newName('talk');
    const { err } = await run(['chat', '--session', session], '[[ask Which city?]]\n');
    const [runId = ''] = /run_\w{26}/.exec(err) ?? [];
    expect((await run(['runs', 'answer', runId, 'Rome'])).code).toBe(0);
    expect((await cluster.api(`/v1/runs/${runId}?wait=30`)).json.reply).toEqual({ text: 'Rome' });
  });

  test('says kindly why there is no answer, and goes on with the next line', async () => {
    const agent = newName('broken');
    const broken = { name: agent, runtime: 'openai', openai: { baseUrl: 'http://127.0.0.1:9/v1', model: 'm' } };
    await cluster.api('/v1/agents', { method: 'POST', body: broken });
    const { code, out, err } = await run(['chat', '--agent', agent], 'one\ntwo\n');
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe('The endpoint of the agent could not be reached. (agent_unreachable)\n'.repeat(2));
  });

  test('ends at once when the agent, the key or the cluster is not there', async () => {
    expect(await run(['chat', '--agent', 'nobody'], 'x\n')).toMatchObject({
      code: 1,
      err: expect.stringContaining('agent_not_found'),
    });
    expect((await run(['chat', '--agent', 'nobody'])).code).toBe(1);
    const key = `tk_${'a'.repeat(8)}_${'b'.repeat(32)}`;
    expect(await run(['chat', '--key', key], 'x\n')).toMatchObject({
      code: 5,
      err: expect.stringContaining('unauthenticated'),
    });
    expect(await run(['chat', '--url', 'http://127.0.0.1:9'], 'x\n')).toMatchObject({ code: 4, out: '' });
  });

  test('leaves on Ctrl-C while a reply is under way', async () => {
    const agent = newName('slow');
    const slow = { name: agent, runtime: 'echo', echo: { delayMs: 60_000 } };
    await cluster.api('/v1/agents', { method: 'POST', body: slow });
    const child = spawn(process.execPath, [MAIN, 'chat', '--agent', agent], { env: environment() });
    child.stdin.write('hello\n');
    const ended = once(child, 'exit');
    await expect
      .poll(async () => (await cluster.api(`/v1/runs?agentId=${agent}`)).json.data.length, { timeout: 20_000 })
      .toBe(1);
    child.kill('SIGINT');
    expect((await ended)[1]).toBe('SIGINT');
  });
});

test('tenants are created, suspended and let go on, and deleted with --yes', async () => {
  const name = newName('tenant');
  const made = await run(['tenants', 'create', name, '--output', 'json']);
  const { key } = JSON.parse(made.out);
  expect((await cluster.api('/v1/agents', { key })).status).toBe(200);
  expect((await run(['tenants', 'create', name])).err).toContain('exists already');
  expect((await run(['tenants', 'suspend', name])).code).toBe(0);
  expect((await cluster.admin(`/admin/v1/tenants/${name}`)).json.status).toBe('suspended');
  expect((await run(['tenants', 'unsuspend', name])).code).toBe(0);
  expect((await cluster.admin(`/admin/v1/tenants/${name}`)).json.status).toBe('active');
  expect((await run(['tenants', 'delete', name])).code).toBe(2);
  const deleted = await run(['tenants', 'delete', name, '--yes', '--output', 'json']);
  expect(JSON.parse(deleted.out).status).toBe('deleting');
});

describe('apply', () => {
  const yaml = (name: string, delayMs: number) => `apiVersion: turnkeeper/v1
tenants:
  - name: ${name}
    keys: [{ name: ci, secret: { valueFrom: { env: CI_KEY } }, preset: developer }]
    agents:
      - { name: main, runtime: echo, echo: { delayMs: ${delayMs} } }
    accounts:
      - name: hook
        agent: main
        channel: webhook
        options: { verify: hmac-sha256-header, header: x-sig }
        secrets: { secret: { valueFrom: { file: hook.key } } }
`;

  function file(text: string): string {
    const path = join(folder, `${newName('file')}.yaml`);
    writeFileSync(path, text);
    return path;
  }

  test('makes what the file says, changes nothing when run again, and shows a difference', async () => {
    writeFileSync(join(folder, 'hook.key'), 'hook-secret\n');
    const name = newName('tenant');
    const env = { CI_KEY: `tk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}` };
    const path = file(yaml(name, 0));
    const first = await run(['apply', '-f', path], '', env);
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toContain(`${name}\n  + tenant ${name} v1\n`);
    expect(first.out).toContain('4 created, 0 updated, 0 unchanged\n');
    expect(first.out).not.toContain('hook-secret');
    expect(first.out).not.toContain(env.CI_KEY);
    expect((await run(['apply', '-f', path], '', env)).out).toBe('0 created, 0 updated, 4 unchanged\n');
    const changed = await run(['apply', '-f', file(yaml(name, 5))], '', env);
    expect(changed.out).toBe(
      `${name}\n  ~ agent main v2\n    - echo.delayMs: 0\n    + echo.delayMs: 5\n0 created, 1 updated, 3 unchanged\n`,
    );
    expect((await cluster.api('/v1/agents', { key: env.CI_KEY })).json.data).toHaveLength(1);
  });

  test('with --dry-run changes nothing, and with --prune takes away what the file no longer names', async () => {
    writeFileSync(join(folder, 'hook.key'), 'hook-secret\n');
    const name = newName('tenant');
    const env = { CI_KEY: `tk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}` };
    const whole = file(yaml(name, 0));
    const tried = await run(['apply', '-f', whole, '--dry-run'], '', env);
    expect([tried.code, tried.out]).toEqual([0, expect.stringContaining('4 created, 0 updated, 0 unchanged\n')]);
    expect((await run(['tenants', 'get', name])).code).toBe(1);
    await run(['apply', '-f', whole], '', env);
    const less = file(`apiVersion: turnkeeper/v1\ntenants:\n  - name: ${name}\n    accounts: []\n`);
    expect((await run(['apply', '-f', less])).out).toBe('0 created, 0 updated, 1 unchanged\n');
    const pruned = await run(['apply', '-f', less, '--prune']);
    expect(pruned.out).toBe(`${name}\n  - account hook v1\n0 created, 0 updated, 1 unchanged, 1 deleted\n`);
    expect((await cluster.api('/v1/agents', { key: env.CI_KEY })).json.data).toHaveLength(1);
  });

  test('names the line of what the server refuses, and stores nothing of that tenant', async () => {
    const name = newName('tenant');
    const path = file(yaml(name, 0).replace('agent: main', 'agent: nobody'));
    const { code, out, err } = await run(['apply', '-f', path], '', {
      CI_KEY: `tk_${newName('k').replace('-', '')}xx_${'c'.repeat(32)}`,
    });
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(`${path}:9: tenants.0.accounts.0.agent: The tenant has no agent of this name or id.\n`);
    expect((await cluster.admin(`/admin/v1/tenants/${name}`)).status).toBe(404);
  });

  test('refuses a faulty file before it asks anybody', async () => {
    const path = file(yaml('x', 0).replace('runtime: echo', 'runtime: magic'));
    const { code, err } = await runProgram(['apply', '-f', path, '--admin-url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(err.split('\n').map((line) => line.slice(path.length).split(':')[1])).toEqual(['4', '6', undefined]);
  });
});

describe('nouns', () => {
  test('list for people within 80 columns, and whole for programs', async () => {
    await run(['chat', '--session', `a-very-long-session-key:${'x'.repeat(200)}`], 'hello\n');
    for (const noun of [['runs'], ['sessions'], ['lanes'], ['workers'], ['events'], ['keys']]) {
      const table = await run(noun);
      expect([noun, table.code, table.err]).toEqual([noun, 0, '']);
      for (const line of table.out.split('\n')) expect([...line].length, line).toBeLessThanOrEqual(80);
    }
    const whole = JSON.parse((await run(['runs', 'list', '--output', 'json'])).out);
    expect(whole[0]).toMatchObject({ runId: expect.any(String), reply: { text: 'hello' } });
    // those of other tests may have ended in between
    const idsOf = (runs: readonly { readonly runId: string }[]) => runs.map(({ runId }) => runId);
    expect(idsOf(rows((await run(['runs', '--output', 'ndjson'])).out))).toEqual(idsOf(whole));
  });

  test('read through pages as far as asked, and say when there is more', async () => {
    const session = newName('many');
    await run(['chat', '--session', session], '1\n2\n3\n');
    const two = await run(['runs', '--session', session, '--limit', '2']);
    expect(two.out.trimEnd().split('\n')).toHaveLength(3);
    expect(two.err).toContain('there are more');
    expect(rows((await run(['runs', '--session', session, '--output', 'ndjson'])).out)).toHaveLength(3);
  });

  test('get one thing, and say when it is not there', async () => {
    expect((await run(['agents', 'get', 'main'])).out).toMatch(/^name +main$/m);
    const missing = await run(['runs', 'get', 'run_01h455vb4pex5vsknk084sn02q']);
    expect([missing.code, missing.err]).toEqual([1, 'no such run (run_not_found)\n']);
    expect((await run(['workers', 'get', 'nobody'])).code).toBe(1);
    expect((await run(['partitions', 'get', '3'])).out).toMatch(/^id +3$/m);
    expect((await run(['runs', '--colour', 'red'])).code).toBe(2);
  });
});

describe('explain', () => {
  test('tells the life of a message step by step, by its run or its event', async () => {
    const session = newName('life');
    await run(['chat', '--session', session], 'hello\n');
    const [{ runId, eventId }] = rows((await run(['runs', '--session', session, '--output', 'ndjson'])).out);
    const { code, out } = await run(['explain', runId]);
    expect(code).toBe(0);
    const steps = ['accepted', 'turn 1 begins', 'turn 1 ends ok', 'settled ok', 'reply delivered'];
    const places = steps.map((step) => out.indexOf(step));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(out.startsWith(`${runId}  ok\nin ${session}`)).toBe(true);
    expect((await run(['explain', eventId])).out).toBe(out);
  });
});

describe('sessions', () => {
  test('are paused, spoken in, labelled, given back and deleted by their key', async () => {
    const key = newName('session');
    const { json } = await cluster.api('/v1/messages', { body: { sessionKey: key, text: 'hello' } });
    await cluster.api(`/v1/runs/${json.runId}?wait=30`);
    const ran = async (...args: string[]) => {
      const { code, out, err } = await run(['sessions', ...args, '--output', 'json']);
      expect([code, err]).toEqual([0, '']);
      return out === '' ? null : JSON.parse(out);
    };
    expect(await ran('pause', key)).toMatchObject({ sessionKey: key, paused: true });
    expect(await ran('outbound', key, 'a person here')).toMatchObject({ status: 'accepted' });
    expect(await ran('label', key, `label of ${key}`)).toMatchObject({ label: `label of ${key}` });
    expect((await ran('unpause', key)).paused).toBeUndefined();
    const idle = await run(['sessions', 'stop', key]);
    expect([idle.code, idle.err]).toEqual([1, expect.stringContaining('nothing_to_stop')]);
    expect(await ran('delete', key)).toBeNull();
    expect((await run(['sessions', 'get', key])).code).toBe(1);
  });
});

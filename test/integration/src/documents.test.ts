/** The examples of docs/http-api.md are sent, and that of docs/configuration-as-code.md is applied, as they stand there. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../services/cli/bin/turnkeeper', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-docs-'));
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1 });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cluster[Symbol.asyncDispose]();
});

interface Example {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly answer: unknown;
}

test('every call of the HTTP API answers as its page says', async () => {
  const seen = new Map<string, string>();
  for (const { method, path, body, status, answer } of examplesOf(readFileSync('docs/http-api.md', 'utf8'))) {
    const at = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => seen.get(name) ?? '');
    const door = at.startsWith('/admin') ? cluster.admin : cluster.api;
    const got = await door.call(cluster, at, { method, ...(body === undefined ? {} : { body }) });
    expect(got.status, `${method} ${at}: ${got.text}`).toBe(status);
    expect(got.json, `${method} ${at}`).toEqual(patternOf(answer));
    for (const name of ['runId', 'eventId']) if (got.json[name] !== undefined) seen.set(name, got.json[name]);
  }
});

test('the file of the manual is applied, and then nothing is left to do', () => {
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/configuration-as-code.md', 'utf8')) ?? [];
  writeFileSync(join(folder, 'acme.yaml'), yaml);
  const env = {
    ...{ PATH: process.env['PATH'], NO_COLOR: '1', ACME_KEY: `tk_acme0001_${'A'.repeat(32)}`, MODEL_KEY: 'sk-1' },
    ...{ HOOK_SECRET: 'hook', TURNKEEPER_ADMIN_URL: cluster.ingress[0]?.internalUrl },
    TURNKEEPER_OPERATOR_KEY: cluster.operatorKey,
  };
  const apply = () => spawnSync(PROGRAM, ['apply', '-f', 'acme.yaml'], { cwd: folder, env, encoding: 'utf8' });
  const first = apply();
  expect(first.stderr).toBe('');
  expect(first.stdout).toContain('6 created');
  expect(apply().stdout).toContain('0 created, 0 updated, 6 unchanged');
});

function examplesOf(page: string): Example[] {
  return [...page.matchAll(/```http\n(\w+) (\S+)\n(.*?)\n(\d{3})\n(.*?)\n```/gs)].map(
    ([, method = '', path = '', body = '', status, answer = '']) => ({
      ...{ method, path, status: Number(status), answer: JSON.parse(answer) },
      body: body.trim() === '' ? undefined : JSON.parse(body),
    }),
  );
}

/** `…` alone is anything, at the end of a text whatever comes then; lists may hold more. */
function patternOf(value: unknown): unknown {
  if (value === '…') return expect.anything();
  if (typeof value === 'string' && value.endsWith('…'))
    return expect.stringMatching(new RegExp(`^${value.slice(0, -1)}`));
  if (Array.isArray(value)) return expect.arrayContaining(value.map(patternOf));
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([name, item]) => [name, patternOf(item)])),
  );
}

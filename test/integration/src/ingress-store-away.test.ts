/** Postgres stops and comes back under an ingress: 503, nothing stored, and then as before. A Postgres of its own. */
import { randomUUID } from 'node:crypto';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { type Database, openDatabase } from '@turnkeeper/storage';
import { type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let services: LocalServices;
let cluster: Cluster;
let database: Database;

beforeAll(async () => {
  services = await startLocalServices({ need: ['postgres'], prefer: 'program', env: {} });
  const urls = { ...inject('urls'), postgres: services.urls.postgres };
  cluster = await startCluster({ urls, ingress: 1, workers: 0, coordinators: 0, mode: 'process' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_admin', poolMax: 1, applicationName: 'test' });
});

afterAll(async () => {
  await database?.close();
  await cluster?.[Symbol.asyncDispose]();
  await services?.stop();
});

const body = (text: string) => ({ sessionKey: 'k', text });
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
const countEvents = async () => {
  const [row] = await database.query<{ n: number }>(
    { name: 'n', text: 'select count(*)::int as n from tk.events' },
    [],
  );
  return row?.n;
};

test('while Postgres is away a message is answered 503 and can be sent again with its key', async () => {
  const before = await cluster.api('/v1/messages', { body: body('before') });
  expect(before.status).toBe(202);
  await services.stopService('postgres', 'immediate');

  const key = randomUUID();
  const refused = await cluster.api('/v1/messages', { body: body('meanwhile'), ...keyed(key) });
  expect(refused.json).toMatchObject({ status: 503, code: 'store_unavailable', retryable: true });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const read = await cluster.api(`/v1/runs/${before.json.runId}`);
  expect([read.status, read.json.code]).toEqual([503, 'store_unavailable']);
  const ready = await fetch(`${cluster.ingress[0]?.url}/readyz`);
  expect(ready.status).toBe(200);
  const waiting = cluster.api('/v1/messages', { body: body('meanwhile'), ...keyed(key) });

  await services.startService('postgres');
  expect([202, 503]).toContain((await waiting).status);
  const accepted = await until('it is accepted again', async () => {
    const answer = await cluster.api('/v1/messages', { body: body('meanwhile'), ...keyed(key) });
    return answer.status === 202 ? answer : null;
  });
  expect((await cluster.api(`/v1/runs/${before.json.runId}`)).json).toMatchObject({ status: 'queued' });
  expect((await cluster.api('/v1/messages', { body: body('meanwhile'), ...keyed(key) })).json).toMatchObject({
    status: 'duplicate',
    runId: accepted.json.runId,
  });
  expect(await until('the rows can be read', countEvents)).toBe(2);
});

test('the stream of a run outlives a short absence', async () => {
  const { json } = await cluster.api('/v1/messages', { body: body('one more') });
  const headers = { authorization: `Bearer ${cluster.apiKey}` };
  const stream = await fetch(`${cluster.ingress[0]?.url}/v1/runs/${json.runId}/events`, { headers });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let told = '';
  while (!told.includes('stream.replayed')) told += (await reader?.read())?.value ?? expect.fail('the stream ended');
  await services.stopService('postgres', 'immediate');
  await services.startService('postgres');
  await until('the run is cancelled', async () => {
    const answer = await cluster.api(`/v1/runs/${json.runId}/cancel`, { method: 'POST' });
    return answer.status === 200;
  });
  let rest = '';
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) rest += part.value;
  expect(rest).toMatch(/event: run\.settled\nid: .*\n.*"status":"cancelled"/);
});

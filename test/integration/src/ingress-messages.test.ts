/** Accepting over HTTP, on real stores: what is stored, once, and what leaves no trace. */
import { randomUUID } from 'node:crypto';
import { type Database, openDatabase } from '@turnkeeper/storage';
import { type ApiInit, type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let database: Database;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 0, coordinators: 0, mode: 'inline' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_admin', poolMax: 2, applicationName: 'test' });
});

afterAll(async () => {
  await database.close();
  await cluster[Symbol.asyncDispose]();
});

const send = (body: unknown, init: ApiInit = {}) => cluster.api('/v1/messages', { method: 'POST', body, ...init });
const fresh = () => ({ sessionKey: randomUUID(), text: 'hello' });

const COUNTS = {
  name: 'counts',
  text: `select (select count(*)::int from tk.events) as events, (select count(*)::int from tk.lanes) as lanes,
    (select count(*)::int from tk.dedupe_keys) as keys`,
};
const EVENTS = {
  name: 'events',
  text: 'select e.body from tk.events e join tk.lanes l on l.id = e.lane_id where l.key = $1 order by e.ord',
};

/** Rows of every table that an accept may write. */
const rowCounts = async () => (await database.query(COUNTS, []))[0];

const eventsOf = (sessionKey: string) =>
  database.query<{ readonly body: { readonly text: string } }>(EVENTS, [sessionKey]);

describe('an accepted message', () => {
  test('is stored when 202 arrives', async () => {
    const body = fresh();
    const answer = await send(body);
    expect([answer.status, answer.json.status, answer.json.position]).toEqual([202, 'accepted', 0]);
    expect(await eventsOf(body.sessionKey)).toMatchObject([{ body: { text: 'hello' } }]);
    const run = await cluster.api(`/v1/runs/${answer.json.runId}`);
    expect(run.json).toMatchObject({ runId: answer.json.runId, sessionKey: body.sessionKey, status: 'queued' });
  });

  test('knows how many stand before it in its conversation', async () => {
    const body = fresh();
    const answers = [await send(body), await send(body), await send(body)];
    expect(answers.map(({ json }) => json.position)).toEqual([0, 1, 2]);
    const keyed = { headers: { 'idempotency-key': randomUUID() } };
    await send(body, keyed);
    expect((await send(body, keyed)).json).toMatchObject({ status: 'duplicate', position: 3 });
  });

  test('keeps the order in which one caller sent, over both nodes', async () => {
    const { sessionKey } = fresh();
    const texts = Array.from({ length: 20 }, (_, i) => `${i}`);
    for (const [i, text] of texts.entries()) {
      const node = cluster.ingress[i % 2];
      await send({ sessionKey, text }, node === undefined ? {} : { node });
    }
    expect((await eventsOf(sessionKey)).map(({ body }) => body.text)).toEqual(texts);
  });

  test('holds what no store can as U+FFFD', async () => {
    const { sessionKey } = fresh();
    await send(`{"sessionKey":"${sessionKey}","text":"a\\u0000b\\ud800c","metadata":{"x\\u0000":"\\udfff"}}`);
    expect(await eventsOf(sessionKey)).toMatchObject([
      { body: { text: 'a\uFFFDb\uFFFDc', metadata: { 'x\uFFFD': '\uFFFD' } } },
    ]);
  });
});

describe('an idempotency key', () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

  test('makes the same body one message, at whichever node', async () => {
    const [body, key] = [fresh(), randomUUID()];
    const [a, b] = cluster.ingress;
    const first = await send(body, { ...keyed(key), ...(a && { node: a }) });
    const again = await send(`{"text":"hello", "sessionKey":"${body.sessionKey}"}`, {
      ...keyed(key),
      ...(b && { node: b }),
    });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect(again.json).toMatchObject({ runId: first.json.runId, status: 'duplicate', runStatus: 'queued' });
    expect(await eventsOf(body.sessionKey)).toHaveLength(1);
  });

  test('used at two nodes at once is one message', async () => {
    for (let round = 0; round < 10; round++) {
      const [body, key] = [fresh(), randomUUID()];
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => {
          const node = cluster.ingress[i % 2];
          return send(body, { ...keyed(key), ...(node && { node }) });
        }),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
      expect(new Set(answers.map(({ json }) => json.runId)).size).toBe(1);
      expect(answers.filter(({ json }) => json.status === 'accepted')).toHaveLength(1);
      expect(await eventsOf(body.sessionKey)).toHaveLength(1);
    }
  });

  test('with another body is 409 and stores nothing', async () => {
    const [body, key] = [fresh(), randomUUID()];
    await send(body, keyed(key));
    const before = await rowCounts();
    const other = await send({ ...body, text: 'other' }, keyed(key));
    expect([other.status, other.json.code]).toEqual([409, 'idempotency_mismatch']);
    expect(await rowCounts()).toEqual(before);
  });

  test('with another conversation is another body', async () => {
    const key = randomUUID();
    await send(fresh(), keyed(key));
    expect((await send(fresh(), keyed(key))).status).toBe(409);
  });

  test('belongs to its tenant and its principal', async () => {
    const key = randomUUID();
    const other = await cluster.putTenant({
      name: `other-${key.slice(0, 8)}`,
      agents: [{ name: 'main', runtime: 'echo' }],
    });
    const body = fresh();
    const first = await send(body, keyed(key));
    const second = await send(body, { ...keyed(key), key: other });
    expect([first.json.status, second.json.status]).toEqual(['accepted', 'accepted']);
    expect(second.json.runId).not.toBe(first.json.runId);
  });
});

describe('a refused message leaves no row', () => {
  test.each([
    ['no JSON', '{', '400 invalid_json'],
    ['unknown field', { ...fresh(), tezt: 1 }, '400 unknown_field'],
    ['no selector', { text: 'a' }, '400 no_selector'],
    ['both selectors', { ...fresh(), source: { platform: 'x', chatType: 'dm' } }, '400 multiple_selectors'],
    ['malformed key', { text: 'a', sessionKey: 'k'.repeat(513) }, '400 malformed_key'],
    ['no agent', { ...fresh(), agentId: 'nobody' }, '404 agent_not_found'],
    ['no account', { ...fresh(), accountId: 'nobody' }, '404 account_not_found'],
    ['too long a text', { ...fresh(), text: 'ä'.repeat(131_073) }, '413 body_too_large'],
    ['too long a body', { ...fresh(), metadata: { a: 'x'.repeat(1024 * 1024) } }, '413 body_too_large'],
  ])('%s', async (_name, body, expected) => {
    const before = await rowCounts();
    const answer = await send(body, { headers: { 'idempotency-key': randomUUID() } });
    expect(`${answer.status} ${answer.json.code}`).toBe(expected);
    expect(await rowCounts()).toEqual(before);
  });

  test('without a right key', async () => {
    const before = await rowCounts();
    const wrong = `${cluster.apiKey.slice(0, -1)}${cluster.apiKey.endsWith('0') ? '1' : '0'}`;
    expect((await send(fresh(), { key: wrong })).json.code).toBe('unauthenticated');
    expect((await send(fresh(), { key: cluster.operatorKey })).json.code).toBe('unauthenticated');
    expect(await rowCounts()).toEqual(before);
  });
});

describe('limits of a tenant', () => {
  const limits = { turnSlots: 1, queuedPerLane: 3, queuedPerTenant: 1000 };
  const tenant = (name: string, more: object) =>
    cluster.putTenant({
      name: `${name}-${randomUUID().slice(0, 8)}`,
      limits: { ...limits, ...more },
      agents: [{ name: 'main', runtime: 'echo' }],
    });

  test('a full lane is 429 for it alone, also for many at once', async () => {
    const key = await tenant('lanes', {});
    const body = fresh();
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(body, { key })));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(3);
    expect(answers.filter(({ json }) => json.code === 'lane_full')).toHaveLength(9);
    expect(await eventsOf(body.sessionKey)).toHaveLength(3);
    expect((await send(fresh(), { key })).status).toBe(202);
  });

  test('a rate holds over both nodes and says when to come back', async () => {
    const key = await tenant('rates', { ratePerSecond: 1, burst: 5 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const node = cluster.ingress[i % 2];
        return send(fresh(), { key, ...(node && { node }) });
      }),
    );
    const taken = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ json }) => json.code === 'rate_limited');
    expect(taken.length + refused.length).toBe(20);
    // a second or two may pass on a busy machine, and with it a token or two
    expect(taken.length).toBeGreaterThanOrEqual(5);
    expect(taken.length).toBeLessThanOrEqual(8);
    expect(taken[0]?.headers.get('ratelimit-policy')).toBe('"tenant";q=5;w=5');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});

describe('what a key is for', () => {
  test('foreign and missing runs are answered alike', async () => {
    const { json } = await send(fresh());
    const other = await cluster.putTenant({ name: `foreign-${randomUUID().slice(0, 8)}`, agents: [] });
    const foreign = await cluster.api(`/v1/runs/${json.runId}`, { key: other });
    const missing = await cluster.api('/v1/runs/run_00000000000000000000000000', { key: other });
    const { requestId: _a, ...first } = foreign.json;
    const { requestId: _b, ...second } = missing.json;
    expect(first).toEqual(second);
    expect(first).toMatchObject({ status: 404, code: 'run_not_found' });
    expect((await cluster.api(`/v1/runs/${json.runId}/cancel`, { method: 'POST', key: other })).status).toBe(404);
  });

  test('a suspended tenant is let in no more', async () => {
    const name = `suspended-${randomUUID().slice(0, 8)}`;
    const key = await cluster.putTenant({ name, agents: [{ name: 'main', runtime: 'echo' }] });
    expect((await send(fresh(), { key })).status).toBe(202);
    await cluster.admin(`/admin/v1/tenants/${name}`, { method: 'PUT', body: { status: 'suspended' } });
    await until(
      'the tenant is refused',
      async () => (await send(fresh(), { key })).json.code === 'tenant_suspended',
      6_000,
    );
  });
});

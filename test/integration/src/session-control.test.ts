/** Commands to conversations over HTTP, at any node, with a worker that runs their turns. */
import { randomBytes, randomUUID } from 'node:crypto';
import { type LaneRef, parseId, type SessionId } from '@turnkeeper/core';
import { OutboundAnswerSchema, SessionControlSchema } from '@turnkeeper/protocol';
import { checkInvariants, openDatabase, PostgresControlStore } from '@turnkeeper/storage';
import { type Cluster, type FakePlatform, startCluster, startFakePlatform, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let platform: FakePlatform;

beforeAll(async () => {
  platform = await startFakePlatform();
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  const secrets = { secret: `whsec_${randomBytes(24).toString('base64')}` };
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [
      { name: 'main', runtime: 'echo' },
      { name: 'slow', runtime: 'echo', echo: { delayMs: 600_000 } },
    ],
    accounts: [
      {
        ...{ name: 'hook', agent: 'main', channel: 'webhook', secrets },
        options: { verify: 'standard-webhooks', template: '{{text}}', replyUrl: `${platform.url}/in` },
      },
    ],
  });
});
afterAll(async () => {
  const sweep = openDatabase({ url: cluster.postgresUrl, role: 'tk_sweep', poolMax: 1, applicationName: 'test' });
  try {
    expect((await checkInvariants(sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await sweep.close();
    await cluster[Symbol.asyncDispose]();
    await platform.close();
  }
});

async function send(body: object): Promise<string> {
  const answer = await cluster.api('/v1/messages', { body: { text: 'hello', ...body } });
  expect(answer.status).toBe(202);
  return answer.json.runId;
}
const runOf = async (runId: string, wait = 0) => (await cluster.api(`/v1/runs/${runId}?wait=${wait}`)).json;
const runs = (runId: string) => until('it runs', async () => (await runOf(runId)).status === 'running');
const path = (key: string, rest = '') => `/v1/sessions/${encodeURIComponent(key)}${rest}`;
/** At the node that did not take the message. */
const command = (key: string, word: string, body: object = {}) =>
  cluster.api(path(key, `/${word}`), { method: 'POST', body, ...(cluster.ingress[1] && { node: cluster.ingress[1] }) });
const history = async (key: string) =>
  (await cluster.api(path(key, '/history'))).json.data.map((one: { author: string; text: string }) => [
    one.author,
    one.text,
  ]);

describe('stop', () => {
  test('at another node ends the turn and the next waiting message; the one after it runs', async () => {
    const sessionKey = randomUUID();
    const sent = [];
    for (const text of ['a', 'b', 'c']) sent.push(await send({ sessionKey, text, agentId: 'slow' }));
    const [a = '', b = '', c = ''] = sent;
    await runs(a);
    const { turnId } = await runOf(a);
    const stopped = await command(sessionKey, 'stop');
    expect([stopped.status, SessionControlSchema.parse(stopped.json).stopped]).toEqual([
      200,
      { turnId, runIds: [a, b] },
    ]);
    expect(await runOf(a)).toMatchObject({ status: 'discarded', turnId });
    expect(await runOf(b)).toMatchObject({ status: 'discarded' });
    await runs(c);
    await command(sessionKey, 'stop');
    const idle = await command(sessionKey, 'stop');
    expect([idle.status, idle.json.code]).toEqual([409, 'nothing_to_stop']);
  });

  test('is found out by the worker itself when no signal reaches it', async () => {
    const sessionKey = randomUUID();
    const [a, b] = [
      await send({ sessionKey, agentId: 'slow' }),
      await send({ sessionKey, agentId: 'slow', kind: 'wake' }),
    ];
    await runs(a);
    const { json } = await cluster.admin('/admin/v1/lanes?tenant=test&limit=200');
    const row = json.data.find((lane: { sessionKey: string }) => lane.sessionKey === sessionKey);
    const tenantId = parseId<LaneRef['tenantId']>(row.tenantId, 'ten');
    if (tenantId === null) throw new Error('no tenant');
    const engine = openDatabase({ url: cluster.postgresUrl, role: 'tk_engine', poolMax: 1, applicationName: 'test' });
    // the rows alone: nobody is told, nobody is woken
    const stopped = await new PostgresControlStore(engine)
      .control({
        ...{ lane: { slot: row.slot, tenantId, laneId: row.laneId }, sessionId: null, command: 'stop', dedupe: null },
        newSessionId: randomUUID() as SessionId,
      })
      .finally(() => engine.close());
    expect(stopped.result).toBe('done');
    await runs(b);
    await command(sessionKey, 'stop');
  });
});

describe('reset', () => {
  test('begins a fresh session, which remembers nothing; the same key does it once', async () => {
    const sessionKey = randomUUID();
    const first = await runOf(await send({ sessionKey }), 30);
    const headers = { 'idempotency-key': randomUUID() };
    const reset = await cluster.api(path(sessionKey, '/reset'), { method: 'POST', headers });
    expect(reset.json.sessionId).not.toBe(first.sessionId);
    expect(Date.parse(reset.json.updatedAt)).toBeGreaterThanOrEqual(Date.parse(reset.json.createdAt));
    const again = await cluster.api(path(sessionKey, '/reset'), { method: 'POST', headers });
    expect([again.status, again.json.sessionId]).toEqual([200, reset.json.sessionId]);
    expect(await history(sessionKey)).toEqual([]);
    const next = await runOf(await send({ sessionKey, text: 'again' }), 30);
    expect(next.sessionId).toBe(reset.json.sessionId);
    const old = await cluster.api(path(first.sessionId, '/pause'), { method: 'POST' });
    expect([old.status, old.json.code]).toEqual([409, 'cannot_change']);
  });
});

describe('a person who takes over', () => {
  test('pauses the conversation, speaks in it, and gives it back with what came meanwhile', async () => {
    const sessionKey = randomUUID();
    await runOf(await send({ sessionKey, text: 'one' }), 30);
    expect((await command(sessionKey, 'pause')).json).toMatchObject({ paused: true });
    const waiting = await send({ sessionKey, text: 'two' });
    const said = await command(sessionKey, 'outbound', { text: 'a person here', author: 'human' });
    expect([said.status, OutboundAnswerSchema.parse(said.json).deliveryStatus]).toEqual([202, 'delivered']);
    expect(await runOf(waiting, 1)).toMatchObject({ status: 'queued' });
    expect((await command(sessionKey, 'unpause')).json.paused).toBeUndefined();
    expect(await runOf(waiting, 30)).toMatchObject({ status: 'ok', reply: { text: 'two' } });
    expect(await history(sessionKey)).toEqual([
      ...[['human', 'one'], ['agent', 'one'], ['human', 'a person here']], // biome-ignore format: one talk
      ...[['human', 'two'], ['agent', 'two']], // biome-ignore format: one talk
    ]);
  });
});

describe('outbound', () => {
  test('leaves by the account that the conversation came by, in order, once per key', async () => {
    const sessionKey = randomUUID();
    await runOf(await send({ sessionKey, text: 'asked', accountId: 'hook' }), 30);
    const idempotencyKey = randomUUID();
    const first = await command(sessionKey, 'outbound', { text: 'news 1', idempotencyKey });
    const again = await command(sessionKey, 'outbound', { text: 'news 1', idempotencyKey });
    expect(again.json).toMatchObject({ messageId: first.json.messageId, status: 'duplicate' });
    const other = await command(sessionKey, 'outbound', { text: 'other', idempotencyKey });
    expect([other.status, other.json.code]).toEqual([409, 'idempotency_mismatch']);
    await command(sessionKey, 'outbound', { text: 'news 2', accountId: 'hook' });
    const sends = () =>
      platform.sends.filter(({ body }) => body.sessionKey === sessionKey).map(({ body }) => body.text);
    await until('all is sent', () => sends().length >= 3);
    expect(sends()).toEqual(['asked', 'news 1', 'news 2']);
  });

  test('counts against the rate of its tenant, and stops where too many of a conversation are undelivered', async () => {
    const account = {
      ...{
        name: 'deaf',
        agent: 'main',
        channel: 'webhook',
        secrets: { secret: `whsec_${randomBytes(24).toString('base64')}` },
      },
      options: { verify: 'standard-webhooks', template: '{{text}}', replyUrl: 'http://127.0.0.1:9/in' },
    };
    const limits = { turnSlots: 10, queuedPerLane: 2, queuedPerTenant: 100, ratePerSecond: 1, burst: 6 };
    const agents = [{ name: 'main', runtime: 'echo' }];
    const key = await cluster.putTenant({ name: 'limited', agents, accounts: [account], limits });
    const sessionKey = randomUUID();
    const say = () => cluster.api(path(sessionKey, '/outbound'), { key, body: { text: 'news', accountId: 'deaf' } });
    await cluster.api('/v1/messages', { key, body: { sessionKey, text: 'hello' } });
    expect([(await say()).status, (await say()).status]).toEqual([202, 202]);
    expect((await say()).json).toMatchObject({ code: 'lane_full', retryable: true });
    const flood = await Promise.all(Array.from({ length: 40 }, say));
    expect(flood.map(({ status }) => status)).toContain(429);
    expect(flood.map(({ json }) => json.code)).toContain('rate_limited');
  });

  test.each([{}, { text: '' }, { text: 'a', author: 'me' }, { text: 'a', x: 1 }])('refuses %j', async (body) => {
    const sessionKey = randomUUID();
    await runOf(await send({ sessionKey }), 30);
    expect((await command(sessionKey, 'outbound', body)).status).toBe(400);
  });
});

describe('suspend, archive, label and delete', () => {
  test('suspend lets the next message begin afresh, resume takes it back', async () => {
    const sessionKey = randomUUID();
    const first = await runOf(await send({ sessionKey }), 30);
    expect((await command(sessionKey, 'suspend')).json).toMatchObject({ suspended: true });
    expect((await command(sessionKey, 'resume')).json.suspended).toBeUndefined();
    expect((await runOf(await send({ sessionKey }), 30)).sessionId).toBe(first.sessionId);
    await command(sessionKey, 'suspend');
    expect((await runOf(await send({ sessionKey }), 30)).sessionId).not.toBe(first.sessionId);
  });

  test('a conversation is archived, labelled, and deleted without a trace', async () => {
    const [sessionKey, other] = [randomUUID(), randomUUID()];
    const label = `label ${sessionKey}`;
    for (const key of [sessionKey, other]) await runOf(await send({ sessionKey: key }), 30);
    const labelled = await cluster.api(path(sessionKey), { method: 'PATCH', body: { label } });
    expect(labelled.json).toMatchObject({ label, displayName: label });
    const taken = await cluster.api(path(other), { method: 'PATCH', body: { label } });
    expect([taken.status, taken.json.code]).toEqual([409, 'label_in_use']);
    expect((await command(sessionKey, 'archive')).json).toMatchObject({ status: 'archived' });
    expect((await cluster.api(path(sessionKey), { method: 'DELETE' })).status).toBe(204);
    const gone = await cluster.api(path(sessionKey));
    expect([gone.status, gone.json.code]).toEqual([404, 'session_not_found']);
    expect((await cluster.api(path(sessionKey), { method: 'DELETE' })).status).toBe(404);
    const next = await runOf(await send({ sessionKey, text: 'back' }), 30);
    expect(next).toMatchObject({ status: 'ok' });
    expect(await history(sessionKey)).toEqual([['human', 'back'], ['agent', 'back']]); // biome-ignore format: one talk
  });

  test('the main conversation is neither archived nor deleted, a busy one not now', async () => {
    const main = 'agent:main:main';
    await runOf(await send({ sessionKey: main }), 30);
    for (const answer of [await command(main, 'archive'), await cluster.api(path(main), { method: 'DELETE' })])
      expect([answer.status, answer.json.code]).toEqual([409, 'main_session']);
    const sessionKey = randomUUID();
    await runs(await send({ sessionKey, agentId: 'slow' }));
    const busy = await cluster.api(path(sessionKey), { method: 'DELETE' });
    expect([busy.status, busy.json.code]).toEqual([409, 'lane_busy']);
    await command(sessionKey, 'stop');
  });

  test('a label is all that can be changed, as it is now and of no past session', async () => {
    const sessionKey = randomUUID();
    const { sessionId } = await runOf(await send({ sessionKey }), 30);
    const patch = async (at: string, body: object, headers = {}) => {
      const { status, json } = await cluster.api(path(at), { method: 'PATCH', body, headers });
      return [status, json.code ?? json.label];
    };
    const label = `a ${sessionKey}`.slice(0, 20);
    expect(await patch(sessionKey, { label: `  ${label} ` }, { 'if-match': '*' })).toEqual([200, label]);
    expect(await patch(sessionId, { label })).toEqual([200, label]);
    for (const body of [{}, { label: '' }, { label: 7 }, { label, status: 'archived' }, { label: 'x'.repeat(65) }])
      expect((await patch(sessionKey, body))[0], JSON.stringify(body)).toBe(400);
    // there is no version that it could name
    expect(await patch(sessionKey, { label: null }, { 'if-match': '"1"' })).toEqual([412, 'version_conflict']);
    await command(sessionKey, 'reset');
    expect(await patch(sessionId, { label: null })).toEqual([409, 'cannot_change']);
    expect(await patch(sessionKey, { label: null })).toEqual([200, undefined]);
  });

  test('a conversation in which messages wait is not deleted, and nothing of it is gone', async () => {
    const sessionKey = randomUUID();
    await runOf(await send({ sessionKey }), 30);
    const remove = (headers = {}) => cluster.api(path(sessionKey), { method: 'DELETE', headers });
    expect((await remove({ 'if-match': '"1"' })).status).toBe(412);
    await command(sessionKey, 'pause');
    const waiting = await send({ sessionKey, text: 'later' });
    const refused = await remove();
    expect([refused.status, refused.json.code]).toEqual([409, 'lane_busy']);
    expect(await history(sessionKey)).toContainEqual(['agent', 'hello']);
    await command(sessionKey, 'unpause');
    expect((await runOf(waiting, 30)).status).toBe('ok');
    // of two at once none finds anything wrong: it is gone
    const answers = await Promise.all([remove(), remove()]);
    expect(answers.map(({ status }) => status).every((status) => status === 204 || status === 404)).toBe(true);
    expect((await remove()).status).toBe(404);
    expect((await cluster.api(path(sessionKey, '/history'))).status).toBe(404);
  });
});

test('of eight who change an agent at once without If-Match none is told of a version that it never named', async () => {
  await cluster.api('/v1/agents', { body: { name: 'contested', runtime: 'echo' } });
  const change = (delayMs: number) =>
    cluster.api('/v1/agents/contested', { method: 'PATCH', body: { echo: { delayMs } } });
  const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(change));
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toContain(200);
  expect(statuses).not.toContain(412);
});

test('a key that two agents have must be told apart, and one that nobody has is missing', async () => {
  const sessionKey = randomUUID();
  for (const agentId of ['main', 'slow']) await send({ sessionKey, agentId });
  const both = await command(sessionKey, 'pause');
  expect([both.status, both.json.code]).toEqual([409, 'ambiguous']);
  expect((await command(sessionKey, 'stop?agentId=slow')).status).toBe(200);
  const none = await command(randomUUID(), 'stop');
  expect([none.status, none.json.code]).toEqual([404, 'session_not_found']);
});

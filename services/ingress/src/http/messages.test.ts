import { formatId } from '@turnkeeper/core';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import { hookAccountId, mainAgentId, otherAgentId, TestPorts, TOKEN, tokenOf } from './test-ports.ts';

const good = { sessionKey: 'k', text: 'hello' };
const sourced = { source: { platform: 'telegram', chatType: 'dm', chatId: '7' }, text: 'hello' };

function setUp() {
  const ports = new TestPorts();
  const app = ports.app();
  const post = (body: unknown, options: InjectOptions = {}): Promise<LightMyRequestResponse> =>
    app.inject({
      method: 'POST',
      url: '/v1/messages',
      payload: typeof body === 'string' ? body : JSON.stringify(body),
      ...options,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...options.headers },
    });
  return { ports, app, post };
}

describe('POST /v1/messages', () => {
  it('answers 202 with ids, key, slot and partition', async () => {
    const { ports, post } = setUp();
    const answer = await post(sourced);
    const [item] = ports.accepted;
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toEqual({
      runId: formatId('run', item?.eventId ?? ''),
      eventId: formatId('evt', item?.eventId ?? ''),
      sessionKey: 'agent:main:telegram:dm:7',
      slot: item?.slot,
      partition: (item?.slot ?? 0) % 16,
      status: 'accepted',
      runStatus: 'queued',
      position: 0,
    });
  });

  it('asks the main agent unless another is named, by name or id', async () => {
    const { ports, post } = setUp();
    await post(good);
    await post({ ...good, agentId: 'other' });
    await post({ ...good, agentId: formatId('agt', otherAgentId) });
    expect(ports.accepted.map((item) => item.agentId)).toEqual([mainAgentId, otherAgentId, otherAgentId]);
  });

  it('owes the reply through an account, whose agent answers', async () => {
    const { ports, post } = setUp();
    await post({ ...good, accountId: 'deploys' });
    await post({ ...good, accountId: formatId('acc', hookAccountId), agentId: 'other' });
    expect(ports.accepted.map((item) => [item.agentId, item.accountId])).toEqual([
      [otherAgentId, hookAccountId],
      [otherAgentId, hookAccountId],
    ]);
    const mismatch = await post({ ...good, accountId: 'deploys', agentId: 'main' });
    expect([mismatch.statusCode, mismatch.json().code]).toEqual([409, 'agent_mismatch']);
  });

  it('keeps a valid traceparent and drops any other', async () => {
    const { ports, post } = setUp();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await post(good, { headers: { traceparent } });
    await post(good, { headers: { traceparent: 'nonsense' } });
    expect(ports.accepted.map((item) => item.traceparent)).toEqual([traceparent, null]);
  });

  it.each([
    ['an idempotency key', '{"sessionKey":"k","text":"a","idempotencyKey":"c\\u0000d"}'],
    ['a session key', '{"sessionKey":"k\\ud800d","text":"a"}'],
    ['a body of very many values', `{"sessionKey":"k","text":"a","metadata":{"a":[${'{},'.repeat(20_000)}{}]}}`],
  ])('refuses %s that no store can keep as it is', async (_what, body) => {
    const { ports, post } = setUp();
    expect((await post(body)).statusCode).toBe(400);
    expect(ports.accepted).toEqual([]);
  });

  it('replaces what no store can hold', async () => {
    const { ports, post } = setUp();
    await post('{"sessionKey":"k","text":"a\\u0000b\\ud800c"}');
    expect(ports.accepted[0]?.body.text).toBe('a\uFFFDb\uFFFDc');
  });
});

describe('idempotency', () => {
  const headers = { 'idempotency-key': 'one' };

  it('answers the same body with the first ids and says so', async () => {
    const { ports, post } = setUp();
    const first = (await post(good, { headers })).json();
    const again = await post('{ "text": "hello",\n "sessionKey": "k" }', { headers });
    expect(again.statusCode).toBe(202);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json()).toMatchObject({ runId: first.runId, eventId: first.eventId, status: 'duplicate' });
    expect(ports.accepted).toHaveLength(1);
  });

  it('tells the present status of the first run', async () => {
    const { ports, post } = setUp();
    await post(good, { headers });
    const [item] = ports.accepted;
    if (item !== undefined) ports.settle(item.eventId, { status: 'ok' });
    expect((await post(good, { headers })).json()).toMatchObject({ status: 'duplicate', runStatus: 'ok' });
  });

  it('refuses another body under the same key', async () => {
    const { post } = setUp();
    await post(good, { headers });
    const other = await post({ ...good, text: 'other' }, { headers });
    expect([other.statusCode, other.json().code]).toEqual([409, 'idempotency_mismatch']);
  });

  it('takes the key from header or body alike', async () => {
    const { ports, post } = setUp();
    await post(good, { headers });
    expect((await post({ ...good, idempotencyKey: 'one' })).json().status).toBe('duplicate');
    const both = await post({ ...good, idempotencyKey: 'two' }, { headers });
    expect([both.statusCode, both.json().code]).toEqual([400, 'invalid_field']);
    expect(ports.accepted).toHaveLength(1);
  });

  it('keeps the keys of two principals apart', async () => {
    const { ports, post } = setUp();
    ports.addKey('otherkey', {});
    await post(good, { headers });
    await post(good, { headers: { ...headers, authorization: `Bearer ${tokenOf('otherkey')}` } });
    expect(ports.accepted).toHaveLength(2);
  });

  it('does not use the key up when the request is refused', async () => {
    const { ports, post } = setUp();
    expect((await post({ ...good, extra: 1 }, { headers })).statusCode).toBe(400);
    ports.storeIsAway = true;
    expect((await post(good, { headers })).statusCode).toBe(503);
    ports.storeIsAway = false;
    ports.laneIsFull = true;
    expect((await post(good, { headers })).statusCode).toBe(429);
    ports.laneIsFull = false;
    expect((await post(good, { headers })).json().status).toBe('accepted');
  });
});

describe('bad input is refused with its code and leaves nothing', () => {
  const text = 'x'.repeat(256 * 1024 + 1);
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  it.each([
    ['no JSON', '{', '400 invalid_json'],
    ['empty body', '', '400 invalid_json'],
    ['a list', '[]', '400 invalid_json'],
    ['a word', '"text"', '400 invalid_json'],
    ['null', 'null', '400 invalid_json'],
    ['a number that is none', '{"text":"a","sessionKey":"k","metadata":{"n":1e999}}', '400 invalid_json'],
    ['nesting without end', `{"text":"a","sessionKey":"k","metadata":{"a":${deep}}}`, '400 invalid_json'],
    ['no text', { sessionKey: 'k' }, '400 missing_field /text'],
    ['text of another type', { sessionKey: 'k', text: 7 }, '400 invalid_field /text'],
    ['empty text', { sessionKey: 'k', text: '' }, '400 invalid_field /text'],
    ['too long a text', { sessionKey: 'k', text }, '413 body_too_large /text'],
    ['an unknown field', { ...good, tezt: 1 }, '400 unknown_field /tezt'],
    [
      'an unknown field below',
      { ...sourced, source: { ...sourced.source, chat: 1 } },
      '400 unknown_field /source/chat',
    ],
    ['a prototype', '{"__proto__":{"a":1},"sessionKey":"k","text":"a"}', '400 unknown_field /__proto__'],
    ['neither source nor key', { text: 'a' }, '400 no_selector '],
    ['both source and key', { ...good, ...sourced }, '400 multiple_selectors /sessionKey'],
    ['an empty key', { ...good, sessionKey: '' }, '400 malformed_key /sessionKey'],
    ['too long a key', { ...good, sessionKey: 'ä'.repeat(257) }, '400 malformed_key /sessionKey'],
    ['a key with a line end', { ...good, sessionKey: 'a\nb' }, '400 malformed_key /sessionKey'],
    ['a source without platform', { text: 'a', source: { chatType: 'dm' } }, '400 missing_field /source/platform'],
    [
      'an unknown chat type',
      { text: 'a', source: { platform: 'x', chatType: 'huge' } },
      '400 invalid_field /source/chatType',
    ],
    [
      'a source whose key is too long',
      { text: 'a', source: { platform: 'x', chatType: 'dm', chatId: ':'.repeat(200) } },
      '400 malformed_key',
    ],
    ['an unknown kind', { ...good, kind: 'command' }, '400 invalid_field /kind'],
    ['an unknown busy mode', { ...good, busyMode: 'steer' }, '400 invalid_field /busyMode'],
    ['metadata that is no object', { ...good, metadata: [] }, '400 invalid_field /metadata'],
    ['too long an idempotency key', { ...good, idempotencyKey: 'k'.repeat(256) }, '400 invalid_field /idempotencyKey'],
    ['an agent that is not there', { ...good, agentId: 'nobody' }, '404 agent_not_found'],
    ['an account that is not there', { ...good, accountId: 'nobody' }, '404 account_not_found'],
    ['a foreign id', { ...good, agentId: formatId('acc', hookAccountId) }, '404 agent_not_found'],
  ])('%s', async (_name, body, expected) => {
    const { ports, post } = setUp();
    const answer = await post(body);
    const [status, code, pointer] = expected.split(' ');
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(`${answer.statusCode} ${answer.json().code}`).toBe(`${status} ${code}`);
    expect(answer.json().requestId).toBe(answer.headers['turnkeeper-request-id']);
    if (pointer !== undefined) expect(answer.json().errors).toContainEqual(expect.objectContaining({ pointer, code }));
    expect(ports.accepted).toEqual([]);
  });

  it.each([
    ['/v1/messages?stream=maybe', 'unsupported_param'],
    ['/v1/messages?wait=1', 'unsupported_param'],
  ])('%s', async (url, code) => {
    const { ports, post } = setUp();
    expect((await post(good, { url })).json()).toMatchObject({ status: 400, code });
    expect(ports.accepted).toEqual([]);
  });

  it('a content type that is no JSON', async () => {
    const { post } = setUp();
    expect((await post(good, { headers: { 'content-type': 'text/plain' } })).json().code).toBe('invalid_json');
  });

  it('a body above 1 MiB, though it is sent in pieces', async () => {
    const { ports, post } = setUp();
    const answer = await post(`{"sessionKey":"k","text":"${'x'.repeat(1024 * 1024)}"}`);
    expect([answer.statusCode, answer.json().code]).toEqual([413, 'body_too_large']);
    expect(ports.accepted).toEqual([]);
  });
});

describe('limits', () => {
  it('tells the rate on successes and on refusals', async () => {
    const { ports, post } = setUp();
    ports.setTenant({
      limits: { ratePerSecond: 5, burst: 20, turnSlots: 1, queuedPerLane: 10, queuedPerTenant: 10 },
    });
    const success = await post(good);
    expect(success.headers).toMatchObject({ 'ratelimit-policy': '"tenant";q=20;w=4', ratelimit: '"tenant";r=19;t=1' });
    ports.rate = { allowed: false, limit: 20, remaining: 0, resetMs: 4000, retryAfterMs: 1200 };
    const refused = await post(good);
    expect(refused.json()).toMatchObject({ status: 429, code: 'rate_limited', retryable: true, retryAfterMs: 1200 });
    expect(refused.headers).toMatchObject({ 'retry-after': '2', ratelimit: '"tenant";r=0;t=2' });
    expect(ports.accepted).toHaveLength(1);
  });

  it('says nothing of rates to a tenant without one', async () => {
    const { post } = setUp();
    expect((await post(good)).headers).not.toHaveProperty('ratelimit');
  });

  it('answers 503 with Retry-After when the store is away', async () => {
    const { ports, post } = setUp();
    ports.storeIsAway = true;
    const answer = await post(good);
    expect(answer.json()).toMatchObject({ status: 503, code: 'store_unavailable', retryable: true });
    expect(answer.headers['retry-after']).toBe('1');
  });
});

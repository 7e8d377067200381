/** Visitors of a page over HTTP: client tokens, stream tickets, and what they open. */
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ChatClient } from './chat-client.fixture.ts';

const PAGE = 'https://shop.example';
const KEY = 'a key of the page with at least 32 characters';
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [{ name: 'main', runtime: 'echo' }],
    accounts: [
      { name: 'site', agent: 'main', channel: 'webchat', options: { origins: [PAGE] }, secrets: { key: KEY } },
    ],
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Call {
  readonly token?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly node?: number;
}

async function call(path: string, { token = cluster.apiKey, body, headers = {}, node = 0 }: Call = {}) {
  const answer = await fetch(cluster.ingress[node]?.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
  const json: Record<string, unknown> = isJson ? ((await answer.json()) as Record<string, unknown>) : {};
  if (!isJson) await answer.body?.cancel();
  return { status: answer.status, headers: answer.headers, code: json['code'], json };
}

async function tokenOf(sub: string, more: object = {}) {
  const { status, json } = await call('/v1/client-tokens', { body: { sub, ...more } });
  expect(status).toBe(201);
  return json as unknown as { token: string; accountId: string; rooms: string[]; sessionKeys: Record<string, string> };
}

const encoded = (key = '') => `~${Buffer.from(key).toString('base64url')}`;
const source = (room: string, userId: string) => ({ platform: 'webchat', chatType: 'dm', chatId: room, userId });

/** A room in which something was said and answered. */
async function spokenIn(room: string, sub: string): Promise<void> {
  const { json } = await call('/v1/messages', { body: { source: source(room, sub), text: `hello from ${sub}` } });
  await call(`/v1/runs/${json['runId']}?wait=30`);
}

describe('a client token', () => {
  test('is for the web chat account of the agent and the room that only this visitor has', async () => {
    const { accountId, rooms, sessionKeys } = await tokenOf('ann');
    expect(accountId).toMatch(/^acc_/);
    expect(rooms).toEqual(['u_ann']);
    expect(sessionKeys).toEqual({ u_ann: 'agent:main:webchat:dm:u_ann' });
  });

  test.each([
    [{}, 'missing_field'],
    [{ sub: 'ann', ttlSeconds: 3601 }, 'invalid_field'],
    [{ sub: 'ann', rooms: [] }, 'invalid_field'],
    [{ sub: 'ann', agentId: 'nobody' }, 'agent_not_found'],
    [{ sub: 'ann', accountId: 'nobody' }, 'account_not_found'],
    [{ sub: 'ann', role: 'admin' }, 'unknown_field'],
  ])('is not made of %j', async (body, code) => {
    expect((await call('/v1/client-tokens', { body })).code).toBe(code);
  });

  test('reads the history of its own room, on any node, and no other: foreign and missing answer alike', async () => {
    await Promise.all([spokenIn('u_bea', 'bea'), spokenIn('u_cid', 'cid')]);
    const { token, sessionKeys } = await tokenOf('bea');
    const own = await call(`/v1/sessions/${encoded(sessionKeys['u_bea'])}/history`, { token, node: 1 });
    expect(own.json['data']).toMatchObject([{ text: 'hello from bea' }, { role: 'assistant' }]);
    const foreign = await call(`/v1/sessions/${encoded('agent:main:webchat:dm:u_cid')}/history`, { token });
    const missing = await call(`/v1/sessions/${encoded('agent:main:webchat:dm:u_nobody')}/history`, { token });
    expect(foreign).toMatchObject({ status: 404, code: 'session_not_found' });
    expect({ ...foreign.json, requestId: '' }).toEqual({ ...missing.json, requestId: '' });
    const events = await call(`/v1/sessions/${encoded('agent:main:webchat:dm:u_cid')}/events`, { token });
    expect(events).toMatchObject({ status: 404, code: 'session_not_found' });
  });

  test('opens nothing else', async () => {
    const { token } = await tokenOf('dan');
    for (const path of ['/v1/sessions', '/v1/runs', '/v1/agents', '/v1/keys']) {
      expect(await call(path, { token })).toMatchObject({ status: 403, code: 'scope_missing' });
    }
    expect(await call('/v1/client-tokens', { token, body: { sub: 'eve' } })).toMatchObject({ code: 'scope_missing' });
  });

  test('works for pages of its account only, and they may read the answers', async () => {
    const { token, sessionKeys } = await tokenOf('bea');
    const path = `/v1/sessions/${encoded(sessionKeys['u_bea'])}/history`;
    const foreign = await call(path, { token, headers: { origin: 'https://evil.example' } });
    expect(foreign).toMatchObject({ status: 403, code: 'origin_not_allowed' });
    const own = await call(path, { token, headers: { origin: PAGE } });
    expect(own.headers.get('access-control-allow-origin')).toBe(PAGE);
  });

  test('may be signed by the owner of the account', async () => {
    const sign = (claims: object, { kid = 'test.site', key = KEY, exp = '10m' } = {}) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'HS256', kid })
        .setExpirationTime(exp)
        .sign(new TextEncoder().encode(key));
    await spokenIn('u_fay', 'fay');
    const path = `/v1/sessions/${encoded('agent:main:webchat:dm:u_fay')}/history`;
    const { accountId } = await tokenOf('fay');
    const statusOf = async (token: string) => (await call(path, { token })).status;
    expect(await statusOf(await sign({ sub: 'fay' }))).toBe(200);
    expect(await statusOf(await sign({ sub: 'fay' }, { kid: accountId }))).toBe(200);
    expect(await statusOf(await sign({ sub: 'gus' }))).toBe(404);
    expect(await statusOf(await sign({ sub: 'gus', rooms: ['u_fay'] }))).toBe(200);
    expect(await statusOf(await sign({ sub: 'fay' }, { key: `${KEY}?` }))).toBe(401);
    expect(await statusOf(await sign({ sub: 'fay' }, { kid: 'test.other' }))).toBe(401);
    expect(await statusOf(await sign({ sub: 'fay' }, { exp: '2h' }))).toBe(401);
    expect(await statusOf(await sign({}))).toBe(401);
  });
});

describe('a page of another origin', () => {
  const session = encoded('agent:main:webchat:dm:u_ann');
  const routes = [
    ['POST', '/v1/uploads?name=a.txt'],
    ['GET', `/v1/attachments/att_${'0'.repeat(26)}`],
    ['POST', '/v1/stream-tickets'],
    ['GET', `/v1/sessions/${session}/events`],
    ['GET', `/v1/sessions/${session}/history`],
    ['POST', `/v1/sessions/${session}/stop`],
  ] as const;
  const preflight = (path: string, method: string, origin: string) =>
    fetch(cluster.ingress[0]?.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  test.each(routes)('may ask before %s %s when a web chat names it, and not otherwise', async (method, path) => {
    const known = await preflight(path, method, PAGE);
    expect(known.status).toBe(204);
    expect(known.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(known.headers.get('access-control-allow-methods')).toContain(method);
    expect(known.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('authorization');
    expect(known.headers.get('access-control-allow-credentials')).toBeNull();
    const foreign = await preflight(path, method, 'https://evil.example');
    expect([foreign.status, ((await foreign.json()) as { code: string }).code]).toEqual([403, 'origin_not_allowed']);
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('may not ask for what keys alone open', async () => {
    const answer = await preflight('/v1/messages', 'POST', PAGE);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([404, null]);
    await answer.body?.cancel();
  });

  test('uploads, reads what it uploaded, and can read why it is refused; a foreign page does nothing', async () => {
    const { token } = await tokenOf('nan');
    const upload = (origin: string) =>
      fetch(`${cluster.ingress[0]?.url}/v1/uploads?name=a.txt`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, origin, 'content-type': 'text/plain' },
        body: 'of nan',
      });
    const refused = await upload('https://evil.example');
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, 'origin_not_allowed']);
    const own = await upload(PAGE);
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([201, PAGE]);
    const { attachmentId } = (await own.json()) as { attachmentId: string };
    const file = await call(`/v1/attachments/${attachmentId}`, { token, headers: { origin: PAGE } });
    expect([file.status, file.headers.get('access-control-allow-origin')]).toEqual([200, PAGE]);
    const late = await call(`/v1/attachments/${attachmentId}`, { token: 'tkc_nonsense', headers: { origin: PAGE } });
    expect([late.status, late.headers.get('access-control-allow-origin')]).toEqual([401, PAGE]);
  });
});

describe('a file in a shared room', () => {
  test('is seen by its visitors once a message that holds it is there, and by nobody else', async () => {
    const [olga, paul, quin] = await Promise.all([
      tokenOf('olga', { rooms: ['lobby', 'u_olga'] }),
      tokenOf('paul', { rooms: ['lobby'] }),
      tokenOf('quin'),
    ]);
    const upload = await fetch(`${cluster.ingress[0]?.url}/v1/uploads?name=plan.txt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${olga.token}`, 'content-type': 'text/plain' },
      body: 'the plan',
    });
    const { attachmentId } = (await upload.json()) as { attachmentId: string };
    const seenBy = async ({ token }: { token: string }) =>
      (await call(`/v1/attachments/${attachmentId}`, { token, node: 1 })).status;
    const say = async (room: string) => {
      using socket = await ChatClient.connect(cluster.ingress[0]?.url ?? '', { token: olga.token });
      const uploads = [{ id: attachmentId }];
      socket.send({ type: 'message', room, clientId: `in-${room}`, text: 'see', uploads });
      expect(await socket.answerTo(`in-${room}`)).toMatchObject({ type: 'ack' });
    };
    expect(await Promise.all([olga, paul, quin].map(seenBy))).toEqual([200, 404, 404]);
    await say('u_olga');
    expect(await Promise.all([olga, paul, quin].map(seenBy))).toEqual([200, 404, 404]);
    await say('lobby');
    expect(await Promise.all([olga, paul, quin].map(seenBy))).toEqual([200, 200, 404]);
  });

  test('of another is no file that a visitor may send', async () => {
    const [olga, paul] = await Promise.all([tokenOf('olga'), tokenOf('paul')]);
    const upload = await fetch(`${cluster.ingress[0]?.url}/v1/uploads?name=own.txt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${olga.token}`, 'content-type': 'text/plain' },
      body: 'own',
    });
    const { attachmentId } = (await upload.json()) as { attachmentId: string };
    using socket = await ChatClient.connect(cluster.ingress[0]?.url ?? '', { token: paul.token });
    socket.send({ type: 'message', room: 'u_paul', clientId: 'm', text: 'see', uploads: [{ id: attachmentId }] });
    expect(await socket.answerTo('m')).toMatchObject({ type: 'nack', code: 'upload_incomplete', retryable: false });
  });
});

describe('a stream ticket', () => {
  const ticketOf = async (token?: string) => {
    const { status, json } = await call('/v1/stream-tickets', { body: {}, ...(token === undefined ? {} : { token }) });
    expect(status).toBe(201);
    return String(json['ticket']);
  };

  test('opens a stream once, on whatever node', async () => {
    await spokenIn('u_hal', 'hal');
    const { token, sessionKeys } = await tokenOf('hal');
    for (const ticket of [await ticketOf(token), await ticketOf()]) {
      const path = `/v1/sessions/${encoded(sessionKeys['u_hal'])}/events?ticket=${ticket}`;
      expect((await call(path, { token: '', node: 1 })).status).toBe(200);
      expect(await call(path, { token: '' })).toMatchObject({ status: 401, code: 'unauthenticated' });
    }
  });

  test('is its visitor’s, and opens no other room and nothing but streams', async () => {
    const { token } = await tokenOf('ida');
    const foreign = `/v1/sessions/${encoded('agent:main:webchat:dm:u_hal')}/events?ticket=${await ticketOf(token)}`;
    expect(await call(foreign, { token: '' })).toMatchObject({ status: 404, code: 'session_not_found' });
    const history = `/v1/sessions/${encoded('agent:main:webchat:dm:u_ida')}/history?ticket=${await ticketOf(token)}`;
    expect(await call(history, { token: '' })).toMatchObject({ status: 401 });
  });
});

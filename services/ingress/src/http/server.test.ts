import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import { StoreError } from '@turnkeeper/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listen } from './listeners.ts';
import { TestPorts, TOKEN } from './test-ports.ts';

const authorization = `Bearer ${TOKEN}`;

describe('every answer', () => {
  it.each([
    ['GET', '/nowhere', '404 not_found'],
    ['PUT', '/v1/messages', '404 not_found'],
    ['GET', '/v1/runs/%ff', '404 not_found'],
    ['GET', '/v1/runs/run_nothing', '404 run_not_found'],
    ['GET', '/v1/runs?limit=0', '400 invalid_limit'],
    ['GET', '/v1/runs?limit=201', '400 invalid_limit'],
    ['GET', '/v1/runs?limit=a', '400 invalid_limit'],
    ['GET', '/v1/runs?limit=1&limit=2', '400 invalid_limit'],
    ['GET', '/v1/runs?cursor=%00', '400 invalid_cursor'],
    ['GET', '/v1/runs?status=fine', '400 unsupported_param'],
    ['GET', '/v1/runs?color=red', '400 unsupported_param'],
    ['GET', '/v1/runs?sessionKey=%00', '400 malformed_key'],
    ['GET', '/v1/runs?sessionKey=', '400 malformed_key'],
    ['GET', '/v1/runs?sessionKey=%EF%BF%BD', '400 malformed_key'],
    ['GET', `/v1/runs?sessionKey=${'%C3%A4'.repeat(257)}`, '400 malformed_key'],
    ['GET', `/v1/runs?agentId=${'x'.repeat(65)}`, '400 unsupported_param'],
    ['GET', '/v1/runs?agentId=nobody', '404 agent_not_found'],
    ['GET', '/v1/runs?agentId=%00', '404 agent_not_found'],
    ['POST', '/v1/runs/run_nothing/cancel', '404 run_not_found'],
    ['POST', '/v1/runs/run_nothing/cancel?x=1', '400 unsupported_param'],
    ['GET', '/v1/runs/run_nothing/events', '404 run_not_found'],
    ['GET', '/v1/events/evt_nothing/timeline', '404 run_not_found'],
    ['POST', '/hooks/acc_nothing', '404 not_found'],
    ['POST', '/hooks/nobody.nothing', '404 not_found'],
    ['POST', '/hooks/%00.nothing', '404 not_found'],
    ['POST', '/hooks/demo.%00', '404 not_found'],
  ] as const)('to %s %s is a problem document with its id', async (method, url, expected) => {
    const answer = await new TestPorts().app().inject({ method, url, headers: { authorization } });
    expect(`${answer.statusCode} ${answer.json().code}`).toBe(expected);
    expect(answer.json()).toMatchObject({
      status: answer.statusCode,
      requestId: answer.headers['turnkeeper-request-id'],
    });
    expect(answer.headers['content-type']).toContain('application/problem+json');
  });

  it.each([
    { method: 'PUT', url: '/v1/messages?x=1', detail: 'this path takes POST, not PUT', allow: 'POST' },
    { method: 'DELETE', url: '/v1/runs/x', detail: 'this path takes GET, HEAD, not DELETE', allow: 'GET, HEAD' },
    { method: 'GET', url: '/v1/run', detail: 'no such path', allow: undefined },
  ] as const)('to $method $url says what there is', async ({ method, url, detail, allow }) => {
    const answer = await new TestPorts().app().inject({ method, url });
    expect(answer.json()).toMatchObject({ code: 'not_found', detail });
    expect(answer.headers.allow).toBe(allow);
  });

  it('to very many unknown fields stays small', async () => {
    const payload = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${'f'.repeat(100)}${i}`, 1]));
    for (const body of [payload, { ['f'.repeat(900_000)]: 1 }]) {
      const answer = await new TestPorts()
        .app()
        .inject({ method: 'POST', url: '/v1/messages', headers: { authorization }, payload: body });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors.length).toBeLessThanOrEqual(20);
      expect(answer.body.length).toBeLessThan(10_000);
    }
  });

  it.each([
    [{ sessionKey: 'k' }, '/text: is missing'],
    [{ sessionKey: 'k', text: '' }, '/text: must not be empty when nothing is attached'],
    [{ sessionKey: 'k', text: 'a', tezt: 'b' }, '/tezt: no such field'],
    [{ text: 'a' }, 'the whole request: give source or sessionKey'],
    [{ text: 'a', source: { platform: 'x' } }, '/source/chatType: is missing: one of dm, group'],
  ])('to %j says in words what is wrong', async (payload, detail) => {
    const answer = await new TestPorts()
      .app()
      .inject({ method: 'POST', url: '/v1/messages', headers: { authorization }, payload });
    expect(answer.json().detail).toContain(detail);
  });

  it.each([
    ['is no UTF-8', Buffer.from([...Buffer.from('{"text":"'), 0xff, ...Buffer.from('"}')]), 'identity'],
    ['is encoded', Buffer.from('{"text":"a"}'), 'gzip'],
  ])('to a body that %s is no acceptance of other words', async (_what, payload, encoding) => {
    const headers = { authorization, 'content-type': 'application/json', 'content-encoding': encoding };
    const answer = await new TestPorts().app().inject({ method: 'POST', url: '/v1/messages', headers, payload });
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_json']);
  });

  it('to a path whose part is too long is 404', async () => {
    const answer = await new TestPorts()
      .app()
      .inject({ url: `/v1/runs/${'x'.repeat(3000)}`, headers: { authorization } });
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  });

  it('has an id of its own', async () => {
    const app = new TestPorts().app();
    const ids = await Promise.all(
      ['/healthz', '/readyz', '/nowhere'].map(async (url) => (await app.inject(url)).headers['turnkeeper-request-id']),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('to HEAD has no body', async () => {
    const app = new TestPorts().app();
    const answer = await app.inject({ method: 'HEAD', url: '/v1/runs', headers: { authorization } });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect((await app.inject({ method: 'HEAD', url: '/nowhere' })).statusCode).toBe(404);
  });

  it('tells nothing of a fault of ours, which is logged', async () => {
    const ports = new TestPorts();
    const app = ports.app();
    app.get('/fault', () => Promise.reject(new TypeError('secret detail')));
    const answer = await app.inject('/fault');
    expect(answer.json()).toMatchObject({ status: 500, code: 'internal' });
    expect(answer.body).not.toContain('secret detail');
    expect(ports.logged).toHaveLength(1);
  });
});

it.each([
  ['row', '22021', '400 invalid_field'],
  ['unknown', '08006', '503 store_unavailable'],
] as const)('what a store says of a failure (%s) is told to no caller', async (failure, state, expected) => {
  const app = new TestPorts().app();
  app.get('/fault', () => Promise.reject(new StoreError({ failure, state, message: `Postgres answered ${state}` })));
  const answer = await app.inject('/fault');
  expect(`${answer.statusCode} ${answer.json().code}`).toBe(expected);
  expect(answer.body).not.toMatch(/Postgres|22021|08006/);
});

describe('what is no request', () => {
  it.each([
    ['no HTTP', 'nonsense\r\n\r\n'],
    ['headers above 16 KiB', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
    ['a header that is none', 'GET / HTTP/1.1\r\nhost: a\r\nx y: z\r\n\r\n'],
    ['two lengths', 'POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}'],
  ])('%s gets a 400 with an id', async (_name, bytes) => {
    const app = new TestPorts().app();
    const port = await listen(app, { host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.write(bytes);
    await once(socket, 'close');
    await app.close();
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/turnkeeper-request-id: req-test-/);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ code: 'invalid_field', status: 400 });
  });
});

describe('any request', () => {
  const anyJson = fc.oneof(
    fc.json(),
    fc
      .record(
        {
          sessionKey: fc.oneof(fc.string(), fc.anything()),
          source: fc.anything(),
          text: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.anything()),
          kind: fc.anything(),
          metadata: fc.object(),
          attachments: fc.anything(),
          idempotencyKey: fc.oneof(fc.string(), fc.anything()),
        },
        { requiredKeys: [] },
      )
      .map((body) => JSON.stringify(body, (_key, value: unknown) => (typeof value === 'bigint' ? 1 : value)) ?? ''),
  );
  const anyRequest = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
    path: fc.oneof(
      fc.constantFrom('/v1/messages', '/v1/runs', '/v1/runs/run_x', '/v1/runs/run_x/cancel', '/hooks/demo.deploys'),
      fc.webPath().map((path) => `/${path}`),
      fc.string().map((text) => `/${text.replaceAll(/[^\u0021-\u00ff]/g, '')}`),
    ),
    query: fc.webQueryParameters(),
    type: fc.constantFrom('application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'),
    payload: anyJson,
  });

  it('is answered, never with a 5xx', async () => {
    const ports = new TestPorts();
    const app = ports.app();
    const port = await listen(app, { host: '127.0.0.1', port: 0 });
    await fc.assert(
      fc.asyncProperty(anyRequest, async ({ method, path, query, type, payload }) => {
        const answer = await send(port, {
          method,
          path: query === '' ? path : `${path}?${query}`,
          headers: { authorization, 'content-type': type, 'content-length': Buffer.byteLength(payload) },
          payload,
        });
        expect(answer.statusCode).toBeLessThan(500);
        expect(answer.headers).toHaveProperty('turnkeeper-request-id');
      }),
      { numRuns: 200 },
    );
    await app.close();
    expect(ports.logged).toEqual([]);
  }, 30_000);
});

interface Sent extends Required<Pick<RequestOptions, 'method' | 'path' | 'headers'>> {
  readonly payload: string;
}

async function send(port: number, { payload, ...options }: Sent): Promise<IncomingMessage> {
  const sent = request({ host: '127.0.0.1', port, agent: false, ...options });
  sent.end(payload);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer;
}

describe('a sender that only begins', () => {
  it('is told at once that there is no such hook: its body is not waited for', async () => {
    const app = new TestPorts().app();
    const socket = connect(await listen(app, { host: '127.0.0.1', port: 0 }), '127.0.0.1');
    socket.write('POST /hooks/nobody.nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n{');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    socket.destroy();
    await app.close();
  });
});

describe('a body that is refused', () => {
  it.each([
    ['announced', true],
    ['sent in pieces', false],
  ])('for its size (%s) gets its answer though the sender sends it all first', async (_how, isAnnounced) => {
    const app = new TestPorts().app();
    const port = await listen(app, { host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const answered = Promise.withResolvers<void>();
    socket.on('error', answered.reject);
    socket.on('close', () => answered.reject(new Error(`closed after ${JSON.stringify(answer)}`)));
    // a sender that reads nothing before all is sent, as many do
    socket.pause();
    const piece = 'x'.repeat(64 * 1024);
    const length = isAnnounced ? `content-length: ${200 * piece.length}` : 'transfer-encoding: chunked';
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
    );
    for (let i = 0; i < 200; i++) {
      const framed = isAnnounced ? piece : `${piece.length.toString(16)}\r\n${piece}\r\n`;
      if (!socket.write(framed)) await Promise.race([once(socket, 'drain'), answered.promise]);
    }
    if (!isAnnounced) socket.write('0\r\n\r\n');
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (answer.includes('body_too_large')) answered.resolve();
    });
    socket.resume();
    await answered.promise;
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    // the connection is still good
    const second = Promise.withResolvers<void>();
    answer = '';
    socket.on('data', () => answer.includes('HTTP/1.1 200') && second.resolve());
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    await second.promise;
    socket.destroy();
    await app.close();
  });
});

import { describe, expect, test } from 'vitest';
import { sse, type TestServer, testServer } from './test-server.ts';
import { Turnkeeper } from './turnkeeper.ts';

const client = ({ fetch }: TestServer) => new Turnkeeper({ baseUrl: 'http://a', auth: 'tk_1', fetch });

describe('a file', () => {
  test('is sent as it is, under its name and a key of its own', async () => {
    const server = testServer([Response.json({ attachmentId: 'att_1' }, { status: 201 })]);
    const { files } = client(server);
    expect(await files.upload(new File(['hi'], 'größe.txt', { type: 'text/plain' }))).toEqual({
      attachmentId: 'att_1',
    });
    const [{ url, headers } = { url: new URL('http://none'), headers: new Headers() }] = server.asked;
    expect(url.searchParams.get('name')).toBe('größe.txt');
    expect(headers.get('content-type')).toBe('text/plain');
    expect(headers.get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
  });

  test('of bytes alone has the type that is said, or none', async () => {
    const server = testServer([Response.json({}), Response.json({})]);
    const { files } = client(server);
    await files.upload(new Uint8Array([1, 2]), { name: 'a', mime: 'text/csv' });
    await files.upload('text');
    expect(server.asked.map(({ headers }) => headers.get('content-type'))).toEqual([
      'text/csv',
      'application/octet-stream',
    ]);
  });

  test('is read with its type', async () => {
    const server = testServer([new Response('%PDF', { headers: { 'content-type': 'application/pdf' } })]);
    const blob = await client(server).files.read('att_1');
    expect([await blob.text(), blob.type]).toEqual(['%PDF', 'application/pdf']);
  });
});

test('an agent is changed at the version that was read', async () => {
  const server = testServer([Response.json({ version: 4 }), new Response(null, { status: 204 })]);
  const { agents } = client(server);
  await agents.update('main', { system: null }, { ifVersion: 3 });
  await agents.delete('main/x');
  expect(
    server.asked.map(({ method, url, headers, body }) => [method, url.pathname, headers.get('if-match'), body]),
  ).toEqual([
    ['PATCH', '/v1/agents/main', '"3"', '{"system":null}'],
    ['DELETE', '/v1/agents/main%2Fx', null, undefined],
  ]);
});

test("the tenant's stream goes on behind its cursor, and tells nothing twice that comes again", async () => {
  const event = (id: string, type: string, sessionKey = 'k') => ({ id, seq: '2', type, sessionKey, data: {} });
  const server = testServer([
    sse([event('zz', 'turn.started'), event('aa', 'turn.finished')]),
    sse([event('aa', 'turn.finished'), event('aa', 'run.settled'), event('bb', 'turn.finished', 'l')]),
    sse([], 'stays'),
  ]);
  const told: string[] = [];
  for await (const { type, sessionKey } of client(server).events.stream({ after: 'yy', types: ['turn.finished'] })) {
    told.push(`${sessionKey} ${type}`);
    if (told.length === 4) break;
  }
  expect(told).toEqual(['k turn.started', 'k turn.finished', 'k run.settled', 'l turn.finished']);
  expect(server.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual(['yy', 'aa']);
  expect(server.asked[0]?.url.href).toBe('http://a/v1/events?types=turn.finished');
});

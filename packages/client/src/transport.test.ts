import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError, BadAnswerError, ConnectionError, DeadlineError } from './errors.ts';
import { problem, type TestServer, testServer } from './test-server.ts';
import { Turnkeeper } from './turnkeeper.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const nobody = () => new TypeError('fetch failed');
const accepted = () => Response.json({ runId: 'run_1' }, { status: 202 });
const client = ({ fetch }: TestServer, baseUrl: string | string[] = 'http://a/') =>
  new Turnkeeper({ baseUrl, auth: 'tk_1', fetch });

/** Lets all pauses pass, and gives how the call ended. */
async function outcome<Result>(call: Promise<Result>): Promise<PromiseSettledResult<Result>> {
  const settled = Promise.allSettled([call]);
  await vi.runAllTimersAsync();
  return (await settled)[0];
}

const message = { sessionKey: 'k', text: 'hi' };

describe('a message', () => {
  test('is sent again with the same key when nobody answers, or the node is overloaded', async () => {
    const server = testServer([nobody(), problem(503, 'overloaded'), problem(429, 'lane_full'), accepted()]);
    const ended = await outcome(client(server).messages.create(message));
    expect(ended).toMatchObject({ value: { runId: 'run_1' } });
    const keys = server.asked.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toHaveLength(4);
    expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{32}$/)]));
    expect(server.asked.map(({ body }) => body)).toEqual(Array(4).fill(JSON.stringify(message)));
  });

  test('that is refused is not sent again', async () => {
    const server = testServer([
      problem(400, 'invalid_field', { errors: [{ pointer: '/text', code: 'invalid_field' }] }),
    ]);
    const { reason } = (await outcome(client(server).messages.create(message))) as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(ApiError);
    expect(reason).toMatchObject({
      ...{ name: 'ApiError', code: 'invalid_field', status: 400, retryable: false, requestId: 'req-invalid_field' },
      fields: [{ pointer: '/text', code: 'invalid_field' }],
    });
    expect(server.asked).toHaveLength(1);
  });

  test('is given up after five tries', async () => {
    const server = testServer(Array.from({ length: 9 }, nobody));
    expect(await outcome(client(server).messages.create(message))).toMatchObject({
      reason: { name: 'ConnectionError', code: 'connection_failed', retryable: true, cause: nobody() },
    });
    expect(server.asked).toHaveLength(5);
  });
});

test('what has no idempotency key is sent once: nobody knows what the first has done', async () => {
  for (const answer of [nobody(), problem(503, 'overloaded')]) {
    const server = testServer([answer, Response.json({})]);
    expect(await outcome(client(server).sessions.stop('k'))).toMatchObject({ status: 'rejected' });
    expect(server.asked).toHaveLength(1);
  }
});

test('waits as long as the server asks', async () => {
  const server = testServer([problem(429, 'rate_limited', { retryAfterMs: 7_000 }), Response.json({})]);
  const call = client(server).sessions.get('k');
  await vi.advanceTimersByTimeAsync(6_999);
  expect(server.asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(300);
  expect(server.asked).toHaveLength(2);
  await call;
});

test('does not wait beyond its deadline, but says at once why not', async () => {
  const server = testServer([problem(429, 'rate_limited', { retryAfterMs: 7_000 })]);
  const call = client(server).sessions.get('k', { timeoutMs: 5_000 });
  await expect(call).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 7_000 });
});

test('asks the next node when one does not answer, and stays with it', async () => {
  const server = testServer([nobody(), Response.json({}), Response.json({})]);
  const both = client(server, ['http://a', 'http://b']);
  await outcome(both.sessions.get('k'));
  await outcome(both.sessions.get('k'));
  expect(server.asked.map(({ url }) => url.host)).toEqual(['a', 'b', 'b']);
});

const silent = (_: unknown, signal: AbortSignal): Promise<Response> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

test('a node that is silent is given up for another', async () => {
  const server = testServer([silent, Response.json({ sessionKey: 'k' })]);
  expect(await outcome(client(server).sessions.get('k'))).toMatchObject({ value: { sessionKey: 'k' } });
});

test('ends with its deadline, and with its signal', async () => {
  const late = await outcome(client(testServer([silent])).sessions.get('k', { timeoutMs: 1_000 }));
  expect((late as PromiseRejectedResult).reason).toBeInstanceOf(DeadlineError);
  const stop = new AbortController();
  const call = client(testServer([silent])).sessions.get('k', { signal: stop.signal });
  stop.abort(new Error('not needed'));
  expect(await outcome(call)).toMatchObject({ reason: new Error('not needed') });
});

test('an answer that is not of Turnkeeper is an error of its own', async () => {
  const server = testServer([new Response('<h1>It works</h1>')]);
  const { reason } = (await outcome(client(server).sessions.get('k'))) as PromiseRejectedResult;
  expect(reason).toBeInstanceOf(BadAnswerError);
  expect(reason).not.toBeInstanceOf(ConnectionError);
});

test('gets its credential anew for every request', async () => {
  let calls = 0;
  const server = testServer([Response.json({}), Response.json({})]);
  const { sessions } = new Turnkeeper({ baseUrl: 'http://a', auth: async () => `t${++calls}`, fetch: server.fetch });
  await outcome(sessions.get('k'));
  await outcome(sessions.get('k'));
  expect(server.asked.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer t1', 'Bearer t2']);
});

test('names every conversation by ~ and base64url of its key', async () => {
  const server = testServer([Response.json({}), Response.json({})]);
  const { sessions } = client(server);
  await outcome(sessions.get('agent:main:ünï/~?', { agentId: 'gpt' }));
  await outcome(sessions.reset('ses_01jd'));
  expect(server.asked.map(({ url }) => url.pathname + url.search)).toEqual([
    `/v1/sessions/~${Buffer.from('agent:main:ünï/~?').toString('base64url')}?agentId=gpt`,
    `/v1/sessions/~${Buffer.from('ses_01jd').toString('base64url')}/reset`,
  ]);
});

test('waits a little before it asks again, elsewhere, when a node answers at once though the run goes on', async () => {
  const server = testServer(Array.from({ length: 99 }, () => () => Response.json({ status: 'running' })));
  const waiting = client(server, ['http://a', 'http://b']).runs.wait('run_1', { timeoutMs: 20_000 });
  const ended = Promise.allSettled([waiting]);
  await vi.advanceTimersByTimeAsync(499);
  expect(server.asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(251);
  expect(server.asked.map(({ url }) => url.host)).toEqual(['a', 'b']);
  await vi.runAllTimersAsync();
  expect(await ended).toMatchObject([{ reason: { name: 'DeadlineError' } }]);
  expect(server.asked.length).toBeLessThan(14);
});

test('waits for a run over as many requests as it takes', async () => {
  const answers = ['queued', 'running', 'ok'].map((status) => Response.json({ status }));
  const server = testServer(answers);
  expect(await outcome(client(server).runs.wait('run_1'))).toMatchObject({ value: { status: 'ok' } });
  expect(server.asked.map(({ url }) => url.search)).toEqual(['?wait=55', '?wait=55', '?wait=55']);
});

test('goes through a list page by page', async () => {
  const pages = [
    { data: [{ runId: 'run_1' }, { runId: 'run_2' }], nextCursor: 'c1', hasMore: true },
    { data: [{ runId: 'run_3' }], nextCursor: null, hasMore: false },
  ];
  const server = testServer(pages.map((page) => Response.json(page)));
  const ids: string[] = [];
  for await (const { runId } of client(server).runs.list({ limit: 2, status: 'ok' })) ids.push(runId);
  expect(ids).toEqual(['run_1', 'run_2', 'run_3']);
  expect(server.asked.map(({ url }) => url.search)).toEqual(['?limit=2&status=ok', '?limit=2&status=ok&cursor=c1']);
});

test('goes through a history from the newest message back', async () => {
  const page = (texts: string[], nextCursor: string | null) =>
    Response.json({ data: texts.map((text) => ({ text })), nextCursor, hasMore: nextCursor !== null });
  const server = testServer([page(['3', '4'], 'c'), page(['1', '2'], null)]);
  const texts: string[] = [];
  for await (const { text } of client(server).sessions.history('k')) texts.push(text);
  expect(texts).toEqual(['4', '3', '2', '1']);
});

test('says which option is missing, and takes an address that ends in /v1', async () => {
  const made = (options: object) => new Turnkeeper(options as ConstructorParameters<typeof Turnkeeper>[0]);
  expect(() => made({ auth: 'k' })).toThrow('baseUrl: give at least one address');
  expect(() => made({ baseUrl: 'http://a' })).toThrow('auth: give a key');
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    throw nobody();
  };
  const call = made({ baseUrl: 'http://a/v1/', auth: 'k', fetch, attemptsMax: 1 }).runs.get('run_1');
  await expect(call).rejects.toThrow('http://a did not answer');
  expect(asked).toEqual(['http://a/v1/runs/run_1']);
});

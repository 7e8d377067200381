import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StreamEvent } from './stream-events.ts';
import { problem, sse, standAt, type TestServer, testServer } from './test-server.ts';
import { Turnkeeper } from './turnkeeper.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const client = ({ fetch }: TestServer, baseUrl: string | string[] = 'http://a') =>
  new Turnkeeper({ baseUrl, auth: 'tk_1', fetch });
const open = (replayFrom: number | null = null) => ({ type: 'stream.open', data: { replayFrom, headSeq: null } });
const message = (id: string, text: string) => ({
  id,
  type: 'message.created',
  seq: Number.parseInt(id, 10),
  data: { messageId: text },
});
const settled = { type: 'run.settled', data: { runId: 'run_1', status: 'ok' } };

/** Reads to the end, or to the nth durable event; then what it threw, if it did. */
async function read(stream: AsyncGenerator<StreamEvent>, count = Number.POSITIVE_INFINITY) {
  const ids: string[] = [];
  let thrown: unknown;
  const reading = (async () => {
    for await (const { cursor } of stream) {
      if (cursor !== undefined) ids.push(cursor);
      if (ids.length >= count) break;
    }
  })().catch((error: unknown) => {
    thrown = error;
  });
  while (
    (await Promise.race([reading.then(() => true), vi.advanceTimersByTimeAsync(100).then(() => false)])) === false
  );
  return { ids, thrown };
}

test('goes on at its cursor after a cut, on the next node, and drops what it has had', async () => {
  const server = testServer([
    sse([open(4), message('5.1', 'a')], 'breaks'),
    new TypeError('fetch failed'),
    sse([open(5), message('5.1', 'a'), message('5', 'b'), message('6', 'c')]),
    sse([open(6), message('7', 'd')], 'stays'),
  ]);
  const stream = client(server, ['http://a', 'http://b']).sessions.stream('k', { after: 4 });
  expect(await read(stream, 4)).toEqual({ ids: ['5.1', '5', '6', '7'], thrown: undefined });
  expect(server.asked.map(({ headers, url }) => [url.host, headers.get('last-event-id')])).toEqual([
    ['a', '4'],
    ['b', '5.1'],
    ['a', '5.1'],
    ['b', '6'],
  ]);
});

test('that began without a cursor loses nothing of what comes while it is cut off', async () => {
  const server = testServer([sse([open(9)], 'breaks'), sse([open(9), message('10', 'a')])]);
  expect(await read(client(server).sessions.stream('k'), 1)).toMatchObject({ ids: ['10'] });
  expect(server.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '9']);
});

test('of a tenant that was cut off before anything durable came goes on where it stood', async () => {
  const server = testServer([
    sse([standAt('t7'), open()], 'breaks'),
    sse([standAt('t7'), open(), standAt('t8')], 'breaks'),
    sse([open(), message('t9', 'a')]),
  ]);
  expect(await read(client(server).events.stream(), 1)).toMatchObject({ ids: ['t9'] });
  expect(server.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, 't7', 't8']);
});

test('begins anew when its cursor is unknown there', async () => {
  const reset = { type: 'stream.reset', data: { reason: 'cursor_unknown', headSeq: 2 } };
  const server = testServer([sse([open(0), reset, message('1', 'a'), message('2', 'b')])]);
  expect(await read(client(server).sessions.stream('k', { after: 99 }), 2)).toMatchObject({ ids: ['1', '2'] });
});

test('comes back when it was told to, after stream.closing', async () => {
  const closing = { type: 'stream.closing', data: { reason: 'drain', reconnectAfterMs: 20_000 } };
  const server = testServer([sse([open(1), closing]), sse([open(1), message('2', 'a')])]);
  const reading = read(client(server).sessions.stream('k', { after: 1 }), 1);
  await vi.advanceTimersByTimeAsync(19_000);
  expect(server.asked).toHaveLength(1);
  expect(await reading).toMatchObject({ ids: ['2'] });
});

test('of a run ends when all of its end is told, and says nothing twice though it has no cursor', async () => {
  const server = testServer([
    sse([open(), message('3', 'q'), message('4', 'a')], 'breaks'),
    sse([open(), message('4', 'a'), settled, message('5', 'b')]),
  ]);
  expect(await read(client(server).runs.stream('run_1'))).toEqual({ ids: ['3', '4', '5'], thrown: undefined });
  expect(server.asked).toHaveLength(2);
});

test('of a message that is sent is resumed by the same message with the same key', async () => {
  const server = testServer([sse([open()], 'breaks'), problem(503, 'draining'), sse([open(), settled])]);
  await read(client(server).messages.stream({ sessionKey: 'k', text: 'hi' }));
  expect(new Set(server.asked.map(({ headers, url }) => `${url.search} ${headers.get('idempotency-key')}`)).size).toBe(
    1,
  );
  expect(server.asked).toHaveLength(3);
});

test('that falls silent is opened anew', async () => {
  const server = testServer([sse([open(0)], 'stays'), sse([open(0), message('1', 'a')])]);
  expect(await read(client(server).sessions.stream('k', { after: 0 }), 1)).toMatchObject({ ids: ['1'] });
});

test('ends with a refusal that stays, with its deadline and its signal, and when nobody is there for long', async () => {
  const missing = await read(client(testServer([problem(404, 'session_not_found')])).sessions.stream('k'));
  expect(missing.thrown).toMatchObject({ code: 'session_not_found' });
  const { sessions } = client(testServer([sse([open(0)], 'stays'), sse([open(0)], 'stays')]));
  expect((await read(sessions.stream('k', { timeoutMs: 5_000 }))).thrown).toMatchObject({ code: 'deadline_passed' });
  const signal = AbortSignal.abort(new Error('not needed'));
  expect((await read(sessions.stream('k', { signal }))).thrown).toEqual(new Error('not needed'));
  const nobody = client(testServer([])).sessions.stream('k', { giveUpAfterMs: 60_000 });
  expect((await read(nobody)).thrown).toMatchObject({ code: 'connection_failed' });
});

test('that is left closes its connection', async () => {
  let isClosed = false;
  const server = testServer([
    (asked, signal) => {
      signal.addEventListener('abort', () => {
        isClosed = true;
      });
      return sse([message('1', 'a')], 'stays')(asked, signal);
    },
  ]);
  await read(client(server).sessions.stream('k'), 1);
  expect(isClosed).toBe(true);
});

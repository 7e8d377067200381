import { type EventId, formatId, type MessageId, type SessionId, type TurnId } from '@turnkeeper/core';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { listen } from '../http/listeners.ts';
import { TestPorts, TOKEN, tokenOf } from '../http/test-ports.ts';

const authorization = `Bearer ${TOKEN}`;
const turnId = '60000000-0000-7000-8000-000000000000' as TurnId;
const messageId = '70000000-0000-7000-8000-000000000000' as MessageId;
const sessionId = '80000000-0000-7000-8000-000000000000' as SessionId;
const trn = formatId('trn', turnId);

interface SseEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly event: { readonly type: string; readonly data: Record<string, unknown> } & Record<string, unknown>;
}

function read(answer: LightMyRequestResponse): SseEvent[] {
  const blocks = answer.body.split('\n\n').filter((block) => block.startsWith('event: '));
  return blocks.map((block) => {
    const lines = Object.fromEntries(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    return { type: lines['event'] ?? '', id: lines['id'], event: JSON.parse(lines['data'] ?? '{}') };
  });
}

async function setUp() {
  const ports = new TestPorts();
  const app = ports.app();
  const headers = { authorization, 'content-type': 'application/json' };
  const post = (url: string) => app.inject({ method: 'POST', url, headers, payload: '{"sessionKey":"k","text":"hi"}' });
  await post('/v1/messages');
  const [item] = ports.accepted;
  if (item === undefined) throw new Error('nothing was accepted');
  const runId = formatId('run', item.eventId);
  const stream = (query = '', lastEventId?: string) =>
    app.inject({
      url: `/v1/runs/${runId}/events${query}`,
      headers: { authorization, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
    });
  const rows = rowsOf(ports, item.eventId);
  const isRead = () => vi.waitFor(() => expect(ports.listeners.size).toBe(1));
  return { ports, app, post, item, runId, stream, ...rows, isRead };
}

/** What the transactions of a run write. */
function rowsOf(ports: TestPorts, eventId: EventId, seq = 1) {
  const runIds = [formatId('run', eventId)];
  const about = { turnId: trn, runIds, sessionId: formatId('ses', sessionId) };
  const data = { messageId: formatId('msg', messageId), role: 'assistant', author: 'agent', text: 'hello' };
  const begin = () =>
    ports.lane.write(
      seq,
      { ...about, type: 'turn.started', data: {} },
      { ...about, type: 'message.created', data: { role: 'user', text: 'hi' } },
    );
  const end = () => {
    ports.settle(eventId, { status: 'ok', reply: { text: 'hello', messageId, seq: `${seq + 1}` }, turnId, sessionId });
    ports.lane.write(
      seq + 1,
      { ...about, type: 'run.settled', data: { runId: runIds[0], status: 'ok' } },
      // of the turn, not of this run alone
      { turnId: trn, type: 'message.created', data },
      { ...about, type: 'turn.finished', data: { status: 'ok' } },
    );
  };
  return { begin, end };
}

const hint = { type: 'run.settled', data: {} };
const delta = (offset: number, text: string) => ({
  type: 'message.delta',
  turnId: trn,
  data: { part: 0, offset, text },
});
const ENDED = ['run.settled', 'message.created', 'turn.finished'];
const types = (answer: LightMyRequestResponse) => read(answer).map(({ type }) => type);

describe('the stream of a run', () => {
  it('that has ended is told whole from its rows, and then is over', async () => {
    const { stream, begin, end, runId } = await setUp();
    begin();
    end();
    const answer = await stream();
    expect(answer.headers['content-type']).toContain('text/event-stream');
    expect(answer.headers).toHaveProperty('turnkeeper-request-id');
    const events = read(answer);
    expect(events.map(({ type, id }) => [type, id])).toEqual([
      ['stream.open', undefined],
      ['turn.started', '1.1'],
      ['message.created', '1'],
      ['run.settled', '2.1'],
      ['message.created', '2.2'],
      ['turn.finished', '2'],
    ]);
    expect(events[4]?.event).toMatchObject({
      ...{ v: 1, seq: 2, sessionKey: 'k', turnId: trn },
      data: { messageId: formatId('msg', messageId), role: 'assistant', author: 'agent', text: 'hello' },
    });
    expect(events[3]?.event.data).toMatchObject({ runId, status: 'ok' });
  });

  it('passes on what its worker says, between what its rows tell, each thing once', async () => {
    const { ports, stream, begin, end, runId, isRead } = await setUp();
    const answer = stream();
    await isRead();
    begin();
    ports.say({ type: 'turn.started', seq: '1', turnId: trn, runIds: [runId], data: {} });
    ports.say(delta(0, 'hel'));
    ports.say(delta(3, 'lo'));
    await vi.waitFor(() => expect(ports.lane.cursors.length).toBeGreaterThan(0));
    end();
    for (const type of ENDED) ports.say({ type, seq: '2', turnId: trn, runIds: [runId], data: {} });
    const isTold = (type: string) => type !== 'message.delta' && type !== 'stream.replayed';
    expect(types(await answer).filter(isTold)).toEqual([
      ...['stream.open', 'turn.started', 'message.created'],
      ...ENDED,
    ]);
  });

  it('leaves out other runs of the lane', async () => {
    const { ports, stream, item, isRead } = await setUp();
    const other = { turnId: 'trn_other', runIds: ['run_other'] };
    ports.lane.write(1, { ...other, type: 'turn.started', data: {} });
    const answer = stream();
    await isRead();
    ports.say({ ...delta(0, 'not for you'), ...other });
    ports.lane.write(2, { ...other, type: 'run.settled', data: {} }, { ...other, type: 'turn.finished', data: {} });
    const { begin, end } = rowsOf(ports, item.eventId, 3);
    begin();
    end();
    ports.say(hint);
    const events = read(await answer).filter(({ type }) => !type.startsWith('stream.'));
    expect(events.map(({ type }) => type)).toEqual(['turn.started', 'message.created', ...ENDED]);
    expect(events.every(({ event }) => event['turnId'] === trn)).toBe(true);
  });

  it('goes on behind the cursor, also within one transaction, and is over at once behind its end', async () => {
    const { stream, begin, end } = await setUp();
    begin();
    end();
    const replayed = (answer: LightMyRequestResponse) => types(answer).filter((type) => !type.startsWith('stream.'));
    expect(replayed(await stream('', '1'))).toEqual(ENDED);
    expect(replayed(await stream('?after=2.1'))).toEqual(['message.created', 'turn.finished']);
    expect(types(await stream('', '2'))).toEqual(['stream.open', 'stream.replayed']);
    expect((await stream('', 'garbage')).json().code).toBe('invalid_cursor');
  });

  it('keeps to the types that its reader wants, and is over all the same', async () => {
    const { stream, begin, end } = await setUp();
    begin();
    end();
    expect(types(await stream('?types=turn.started'))).toEqual(['stream.open', 'turn.started']);
  });

  it('that was refused when it came tells just that', async () => {
    const { ports, stream, item } = await setUp();
    ports.settle(item.eventId, { status: 'refused', errorCode: 'internal' });
    const events = read(await stream());
    expect(events.map(({ type }) => type)).toEqual(['stream.open', 'stream.replayed', 'run.settled']);
    expect(events[2]?.event.data).toMatchObject({ status: 'refused', error: { code: 'internal' } });
  });

  it('is whole when no live event comes at all', async () => {
    const { ports, stream, begin, end, isRead } = await setUp();
    const polling = new AbortController();
    const polls = ports.poll(polling.signal);
    const answer = stream();
    await isRead();
    begin();
    end();
    expect(types(await answer)).toEqual(
      expect.arrayContaining(['stream.open', 'turn.started', 'message.created', ...ENDED]),
    );
    polling.abort();
    await polls;
  });

  it('is let go of when it has ended', async () => {
    const { ports, stream, begin, end } = await setUp();
    begin();
    end();
    await stream();
    expect(ports.listeners.size).toBe(0);
  });
});

describe('a reader that goes away', () => {
  it('is listened for no more', async () => {
    const { ports, app, runId } = await setUp();
    const port = await listen(app, { host: '127.0.0.1', port: 0 });
    const reader = new AbortController();
    const options = { headers: { authorization }, signal: reader.signal };
    const answer = await fetch(`http://127.0.0.1:${port}/v1/runs/${runId}/events`, options);
    expect(answer.status).toBe(200);
    expect(ports.listeners.size).toBeGreaterThan(0);
    reader.abort();
    await vi.waitFor(() => expect(ports.listeners.size).toBe(0));
    await app.close();
  });
});

describe('POST /v1/messages?stream=true', () => {
  it('answers with the stream of the run, its acceptance first', async () => {
    const { ports, post } = await setUp();
    const answer = post('/v1/messages?stream=true');
    await vi.waitFor(() => expect(ports.accepted).toHaveLength(2));
    const [, item] = ports.accepted;
    if (item === undefined) throw new Error('nothing was accepted');
    const runId = formatId('run', item.eventId);
    await vi.waitFor(() => expect(ports.listeners.size).toBe(1));
    const { begin, end } = rowsOf(ports, item.eventId);
    begin();
    end();
    ports.say(hint);
    const events = read(await answer).filter(({ type }) => type !== 'stream.replayed');
    expect(events.map(({ type }) => type)).toEqual([
      ...['stream.open', 'event.accepted', 'turn.started', 'message.created'],
      ...ENDED,
    ]);
    expect(events[1]?.event.data).toMatchObject({ runId, kind: 'message', position: 0 });
  });

  it('answers a refusal as a problem, and listens no more', async () => {
    const { ports, post } = await setUp();
    ports.laneIsFull = true;
    const answer = await post('/v1/messages?stream=true');
    expect([answer.statusCode, answer.json().code]).toEqual([429, 'lane_full']);
    expect(ports.listeners.size).toBe(0);
  });
});

describe('streams are bounded', () => {
  it('above the bound they are refused', async () => {
    const { ports, stream, begin, end } = await setUp();
    const open = [stream(), stream()];
    await vi.waitFor(() => expect(ports.listeners.size).toBe(2));
    const refused = await stream();
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'too_many_streams']);
    begin();
    end();
    ports.say(hint);
    await Promise.all(open);
  });

  it('also when they come together', async () => {
    const { ports, stream, begin, end } = await setUp();
    const answers = [stream(), stream(), stream()];
    const refused = await Promise.race(answers);
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'too_many_streams']);
    begin();
    end();
    ports.say(hint);
    const codes = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(codes.sort()).toEqual([200, 200, 429]);
    expect((await stream()).statusCode).toBe(200);
  });

  it('by the store: refused while it is away, ended when it goes away, to be gone on with later', async () => {
    const { ports, stream, begin } = await setUp();
    begin();
    ports.lane.headIsAway = true;
    const events = await stream();
    expect([events.statusCode, events.json().code]).toEqual([503, 'store_unavailable']);
    expect(ports.listeners.size).toBe(0);
    ports.lane.headIsAway = false;
    ports.lane.pagesAreAway = true;
    const last = read(await stream()).at(-1)?.event;
    expect(last).toMatchObject({ type: 'stream.closing', data: { reason: 'lifetime' } });
    await vi.waitFor(() => expect(ports.listeners.size).toBe(0));
  });

  it('by the life of their key, asked for once for all its streams; a store that is away is told of once', async () => {
    const { ports, stream, begin, end } = await setUp();
    const answers = [stream(), stream()];
    await vi.waitFor(() => expect(ports.listeners.size).toBe(2));
    const recheck = async () => {
      const [asked, logged] = [ports.keysAsked, ports.logged.length];
      await ports.recheck();
      return [ports.keysAsked - asked, ports.logged.length - logged];
    };
    await vi.waitFor(async () => expect(await recheck()).toEqual([1, 0]));
    ports.keysAreAway = true;
    expect([await recheck(), await recheck()]).toEqual([
      [1, 1],
      [1, 0],
    ]);
    ports.keysAreAway = false;
    expect(await recheck()).toEqual([1, 0]);
    ports.keysAreAway = true;
    expect(await recheck()).toEqual([1, 1]);
    begin();
    end();
    ports.say(hint);
    await Promise.all(answers);
  });

  it('by a drain, which says when to come back', async () => {
    const { ports, stream, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.drain();
    const closing = read(await answer).at(-1);
    expect(closing?.event).toMatchObject({ type: 'stream.closing', data: { reason: 'drain' } });
    expect(closing?.event.data['reconnectAfterMs']).toBeLessThanOrEqual(30_000);
  });

  it('by the life of their key', async () => {
    const { ports, stream, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.addKey('ownerkey', { revokedAt: new Date() });
    await vi.waitFor(async () => {
      await ports.recheck();
      expect(ports.listeners.size).toBe(0);
    });
    expect(read(await answer).at(-1)?.event).toMatchObject({ type: 'stream.closing', data: { reason: 'revoked' } });
  });

  it('for a key that may not read they are refused', async () => {
    const { ports, app, runId } = await setUp();
    ports.addKey('writeonly', { scopes: ['messages:write'] });
    const headers = { authorization: `Bearer ${tokenOf('writeonly')}` };
    expect((await app.inject({ url: `/v1/runs/${runId}/events`, headers })).json().code).toBe('scope_missing');
  });
});

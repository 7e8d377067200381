import { formatId, type MessageId, type SessionId, StoreError, type TurnId } from '@turnkeeper/core';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { listen } from '../http/listeners.ts';
import { TestPorts, TOKEN, tokenOf } from '../http/test-ports.ts';
import { RunWaiters } from './run-waiters.ts';

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
  const stream = () => app.inject({ url: `/v1/runs/${runId}/events`, headers: { authorization } });
  const reply = { text: 'hello', messageId, seq: '2' };
  const end = () => ports.settle(item.eventId, { status: 'ok', reply, turnId, sessionId });
  const isRead = () => vi.waitFor(() => expect(ports.listeners.size).toBe(2));
  return { ports, app, post, item, runId, stream, end, isRead };
}

const started = { type: 'turn.started', seq: '1', turnId: trn };
const delta = (offset: number, text: string) => ({
  type: 'message.delta',
  turnId: trn,
  data: { part: 0, offset, text },
});

describe('the stream of a run', () => {
  it('that has ended tells its message and its end', async () => {
    const { stream, end, runId } = await setUp();
    end();
    const answer = await stream();
    expect(answer.headers['content-type']).toContain('text/event-stream');
    expect(answer.headers).toHaveProperty('turnkeeper-request-id');
    const events = read(answer);
    expect(events.map(({ type }) => type)).toEqual(['stream.open', 'message.created', 'run.settled']);
    expect(events[1]).toMatchObject({
      id: '2',
      event: {
        v: 1,
        seq: 2,
        sessionKey: 'k',
        turnId: trn,
        runIds: [runId],
        sessionId: formatId('ses', sessionId),
        data: { messageId: formatId('msg', messageId), role: 'assistant', author: 'agent', text: 'hello' },
      },
    });
    expect(events[2]?.event.data).toMatchObject({ runId, status: 'ok' });
  });

  it('passes on what its worker says, in order, and each thing once', async () => {
    const { ports, stream, end, runId, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.say({ ...started, runIds: [runId], data: {} });
    ports.say(delta(0, 'hel'));
    ports.say(delta(3, 'lo'));
    end();
    const created = { role: 'assistant', text: 'hello' };
    ports.say({ type: 'message.created', seq: '2', turnId: trn, runIds: [runId], data: created });
    ports.say({ type: 'turn.finished', seq: '2', turnId: trn, runIds: [runId], data: { status: 'ok' } });
    ports.say({ type: 'run.settled', seq: '2', runIds: [runId], data: {} });
    const events = read(await answer);
    expect(events.map(({ type, id }) => [type, id])).toEqual([
      ['stream.open', undefined],
      ['turn.started', '1'],
      ['message.delta', undefined],
      ['message.delta', undefined],
      ['message.created', '2'],
      ['turn.finished', '2'],
      ['run.settled', undefined],
    ]);
  });

  it('leaves out other runs of the lane', async () => {
    const { ports, stream, end, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.say({ type: 'turn.started', seq: '1', turnId: 'trn_other', runIds: ['run_other'], data: {} });
    ports.say({ type: 'message.delta', turnId: 'trn_other', data: { offset: 0, text: 'not for you' } });
    end();
    ports.say({ type: 'run.settled', runIds: ['run_other'], data: {} });
    expect(read(await answer).map(({ type }) => type)).toEqual(['stream.open', 'message.created', 'run.settled']);
  });

  it('is whole when no live event comes at all', async () => {
    const { stream, end, isRead } = await setUp();
    const answer = stream();
    await isRead();
    end();
    expect(read(await answer).map(({ type }) => type)).toEqual(['stream.open', 'message.created', 'run.settled']);
  });

  it('ends an open turn whose end was lost', async () => {
    const { ports, stream, end, runId, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.say({ ...started, runIds: [runId], data: {} });
    end();
    ports.say({ type: 'run.settled', runIds: [runId], data: {} });
    const types = read(await answer).map(({ type }) => type);
    expect(types).toEqual(['stream.open', 'turn.started', 'message.created', 'turn.finished', 'run.settled']);
  });

  it('is let go of when it has ended', async () => {
    const { ports, stream, end } = await setUp();
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
    const runId = formatId('run', item?.eventId ?? '');
    await vi.waitFor(() => expect(ports.listeners.size).toBe(2));
    ports.say({ ...started, runIds: [runId], data: {} });
    if (item !== undefined) ports.settle(item.eventId, { status: 'no_reply', turnId });
    ports.say({ type: 'run.settled', runIds: [runId], data: {} });
    const events = read(await answer);
    expect(events.map(({ type }) => type)).toEqual([
      'stream.open',
      'event.accepted',
      'turn.started',
      'turn.finished',
      'run.settled',
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
    const { ports, stream, end } = await setUp();
    const open = [stream(), stream()];
    await vi.waitFor(() => expect(ports.listeners.size).toBe(3));
    const refused = await stream();
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'too_many_streams']);
    end();
    ports.say({ type: 'run.settled', data: {} });
    await Promise.all(open);
  });

  it('also when they come together', async () => {
    const { ports, stream, end } = await setUp();
    const answers = [stream(), stream(), stream()];
    const refused = await Promise.race(answers);
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'too_many_streams']);
    end();
    ports.say({ type: 'run.settled', data: {} });
    const codes = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(codes.sort()).toEqual([200, 200, 429]);
    expect((await stream()).statusCode).toBe(200);
  });

  it('where too many wait they are refused before the answer begins', async () => {
    const { ports, app, runId, stream, end } = await setUp();
    const wait = () => app.inject({ url: `/v1/runs/${runId}?wait=30`, headers: { authorization } });
    const waits = vi.spyOn(RunWaiters.prototype, 'wait');
    const full = [wait(), wait(), wait()];
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(3));
    waits.mockRestore();
    const refused = await stream();
    expect([refused.statusCode, refused.json().code]).toEqual([429, 'too_many_waiters']);
    end();
    ports.say({ type: 'run.settled', data: {} });
    await Promise.all(full);
    expect((await stream()).statusCode).toBe(200);
  });

  it('by the store, when the end cannot be read', async () => {
    const { stream } = await setUp();
    const away = new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
    const place = { wait: () => Promise.reject(away), release: () => undefined };
    vi.spyOn(RunWaiters.prototype, 'reserve').mockReturnValueOnce(place);
    const last = read(await stream()).at(-1)?.event;
    expect(last).toMatchObject({ type: 'stream.closing', data: { reason: 'lifetime' } });
  });

  it('by the life of their key, asked for once for all its streams; a store that is away is told of once', async () => {
    const { ports, stream, end } = await setUp();
    const answers = [stream(), stream()];
    await vi.waitFor(() => expect(ports.listeners.size).toBe(3));
    const recheck = async () => {
      const [asked, logged] = [ports.keysAsked, ports.logged.length];
      await ports.recheck();
      return [ports.keysAsked - asked, ports.logged.length - logged];
    };
    expect(await recheck()).toEqual([1, 0]);
    ports.keysAreAway = true;
    expect([await recheck(), await recheck()]).toEqual([
      [1, 1],
      [1, 0],
    ]);
    ports.keysAreAway = false;
    expect(await recheck()).toEqual([1, 0]);
    ports.keysAreAway = true;
    expect(await recheck()).toEqual([1, 1]);
    end();
    ports.say({ type: 'run.settled', data: {} });
    await Promise.all(answers);
  });

  it('by a drain, which says when to come back', async () => {
    const { ports, stream, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.drain();
    const [, closing] = read(await answer);
    expect(closing?.event).toMatchObject({ type: 'stream.closing', data: { reason: 'drain' } });
    expect(closing?.event.data['reconnectAfterMs']).toBeLessThanOrEqual(30_000);
  });

  it('by the life of their key', async () => {
    const { ports, stream, isRead } = await setUp();
    const answer = stream();
    await isRead();
    ports.addKey('ownerkey', { revokedAt: new Date() });
    await ports.recheck();
    expect(read(await answer).at(-1)?.event).toMatchObject({ type: 'stream.closing', data: { reason: 'revoked' } });
  });

  it('for a key that may not read they are refused', async () => {
    const { ports, app, runId } = await setUp();
    ports.addKey('writeonly', { scopes: ['messages:write'] });
    const headers = { authorization: `Bearer ${tokenOf('writeonly')}` };
    expect((await app.inject({ url: `/v1/runs/${runId}/events`, headers })).json().code).toBe('scope_missing');
  });
});

/** Waiting for runs, watching them live and cancelling them, and the door for clients of OpenAI, with a worker that runs them. */
import { randomUUID } from 'node:crypto';
import { type Cluster, type FakeOpenAi, startCluster, startFakeOpenAi, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let model: FakeOpenAi;

beforeAll(async () => {
  model = await startFakeOpenAi();
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [
      { name: 'main', runtime: 'echo' },
      { name: 'words', runtime: 'echo', echo: { wordMs: 50 } },
      { name: 'slow', runtime: 'echo', echo: { delayMs: 600_000 } },
      { name: 'model', runtime: 'openai', openai: { baseUrl: `${model.url}/v1`, model: 'm' } },
      // our own door by another's client: the AI SDK
      {
        ...{ name: 'loop', runtime: 'openai' },
        openai: { baseUrl: `${cluster.ingress[0]?.url}/v1`, model: 'words', apiKey: cluster.apiKey },
      },
    ],
  });
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await model.close();
});

const send = async (body: object = {}) => {
  const answer = await cluster.api('/v1/messages', { body: { sessionKey: randomUUID(), text: 'hello', ...body } });
  return answer.json.runId as string;
};
const wait = (runId: string, seconds = 30) => cluster.api(`/v1/runs/${runId}?wait=${seconds}`);

interface StreamEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads an SSE answer to its end. */
async function readStream(path: string, init: RequestInit = {}, node = 0): Promise<StreamEvent[]> {
  const headers = { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' };
  const answer = await fetch(cluster.ingress[node]?.url + path, {
    ...init,
    headers,
    signal: AbortSignal.timeout(30_000),
  });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  return [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''));
}

/** What no row tells of comes when it comes. */
const TOLD_AT_ANY_TIME: ReadonlySet<string> = new Set([
  ...['stream.replayed', 'message.delta', 'turn.snapshot', 'turn.activity', 'delivery.updated'],
]);

describe('a run', () => {
  test('is told with its reply to one who waits', async () => {
    const run = (await wait(await send())).json;
    expect(run).toMatchObject({ status: 'ok', attempts: 1, reply: { text: 'hello' } });
    expect(Date.parse(run.finishedAt)).toBeGreaterThanOrEqual(Date.parse(run.createdAt));
  });

  test('is told as it stands when the time is over', async () => {
    const runId = await send({ agentId: 'slow' });
    await until('it runs', async () => (await wait(runId, 0)).json.status === 'running');
    expect((await wait(runId, 1)).json).toMatchObject({ status: 'running', attempts: 1 });
  });

  test.each(['-1', '56', '1.5', 'a', ''])('cannot be waited for %j seconds', async (seconds) => {
    const answer = await cluster.api(`/v1/runs/${await send()}?wait=${seconds}`);
    expect([answer.status, answer.json.code]).toEqual([400, 'unsupported_param']);
  });

  test('stands in the list of its conversation, the newest first, page by page', async () => {
    const sessionKey = randomUUID();
    const sent: string[] = [];
    for (let i = 0; i < 3; i++) sent.push(await send({ sessionKey }));
    const first = await cluster.api(`/v1/runs?sessionKey=${sessionKey}&limit=2`);
    const second = await cluster.api(`/v1/runs?sessionKey=${sessionKey}&limit=2&cursor=${first.json.nextCursor}`);
    const seen = [...first.json.data, ...second.json.data].map((run) => run.runId);
    expect(seen).toEqual(sent.reverse());
    expect([first.json.hasMore, second.json.hasMore, second.json.nextCursor]).toEqual([true, false, null]);
  });
});

describe('the stream of a run', () => {
  test('begins with its acceptance and brings each word as it comes', async () => {
    // long enough to be still under way when the stream has begun, on a slow machine too
    const text = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
    const body = JSON.stringify({ sessionKey: randomUUID(), text, agentId: 'words' });
    const events = await readStream('/v1/messages?stream=true', { method: 'POST', body });
    const types = events.map(({ type }) => type).filter((type) => !TOLD_AT_ANY_TIME.has(type));
    expect(types).toEqual([
      ...['stream.open', 'event.accepted', 'turn.started', 'message.created'],
      ...['run.settled', 'message.created', 'turn.finished'],
    ]);
    const deltas = events.filter(({ type }) => type === 'message.delta');
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(({ data }) => data['text']).join('')).toBe(text);
    expect(events.at(-1)).toMatchObject({ type: 'turn.finished', data: { status: 'ok' } });
  });

  test('is the same at the other node', async () => {
    const runId = await send({ agentId: 'words', text: 'a b c d e f g h i j' });
    const events = await readStream(`/v1/runs/${runId}/events`, {}, 1);
    expect(events.at(0)?.type).toBe('stream.open');
    expect(events.filter(({ type }) => type === 'message.created')).toMatchObject([
      { data: { role: 'user', text: 'a b c d e f g h i j' } },
      { data: { role: 'assistant', text: 'a b c d e f g h i j' } },
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'run.settled' }));
  });

  test('of a run that has ended tells it whole', async () => {
    const runId = await send();
    await wait(runId);
    const events = await readStream(`/v1/runs/${runId}/events`);
    const types = ['stream.open', 'turn.started', 'message.created', 'run.settled', 'message.created', 'turn.finished'];
    expect(events.map(({ type }) => type)).toEqual(types);
  });
});

describe('the door for clients of OpenAI', () => {
  const say = (content: string) => ({ role: 'user', content });
  const complete = (body: object, headers: Readonly<Record<string, string>> = {}) =>
    cluster.api('/v1/chat/completions', { body: { model: 'main', messages: [say('hello')], ...body }, headers });

  test('lists the agents as models', async () => {
    const { json } = await cluster.api('/v1/models');
    expect(json.data.map(({ id }: { id: string }) => id).sort()).toEqual(['loop', 'main', 'model', 'slow', 'words']);
    expect(json).toMatchObject({
      object: 'list',
      has_more: false,
      data: [{ object: 'model', owned_by: 'test' }, {}, {}, {}, {}],
    });
  });

  test('answers with the reply, in the lane that is named, with what the model counted', async () => {
    const lane = { 'x-session-key': randomUUID() };
    const first = await complete({ model: 'model', messages: [say('one')] }, lane);
    expect(first.json).toMatchObject({ model: 'model', choices: [{ message: { role: 'assistant' } }] });
    expect(first.json.usage.total_tokens).toBeGreaterThan(0);
    await complete({ model: 'model', messages: [say('forgotten'), say('two')] }, lane);
    const texts = model.requests.at(-1)?.messages.map(({ role, content }) => [role, content]);
    expect(texts).toEqual([
      ['user', 'one'],
      ['assistant', first.json.choices[0].message.content],
      ['user', 'two'],
    ]);
    expect((await cluster.api(`/v1/runs/${first.json.id}`)).json.sessionKey).toBe(lane['x-session-key']);
  });

  test('tells the model what went before where no lane is named', async () => {
    const messages = [say('a'), { role: 'assistant', content: 'b' }, say('c')];
    await complete({ model: 'model', messages });
    expect(model.requests.at(-1)?.messages).toMatchObject(messages);
  });

  test('is enough for the client of another: one agent asks another through it, and streams', async () => {
    const text = 'a b c d e f g h i j';
    const answer = await complete({ model: 'loop', messages: [say(text)] });
    expect(answer.json.choices?.[0].message.content, answer.text).toBe(text);
  });

  test('streams what an agent says, to [DONE]', async () => {
    const headers = { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'words', messages: [say('a b c d e')], stream: true });
    const init = { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) };
    const answer = await fetch(`${cluster.ingress[1]?.url}/v1/chat/completions`, init);
    const frames = [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, frame = '']) => frame);
    expect(frames.at(-1)).toBe('[DONE]');
    const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame));
    expect(chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe('a b c d e');
  });

  test('leaves a turn that asks a person, and one whose caller has gone, to go on', async () => {
    const asked = await complete({ messages: [say('[[ask Now?]]')] });
    expect([asked.status, asked.json.error?.code]).toEqual([504, 'deadline_exceeded']);
    const { runId } = asked.json.error;
    expect((await wait(runId, 0)).json).toMatchObject({ status: 'waiting' });

    const gone = new AbortController();
    const sessionKey = randomUUID();
    const headers = {
      authorization: `Bearer ${cluster.apiKey}`,
      'content-type': 'application/json',
      'x-session-key': sessionKey,
    };
    const body = JSON.stringify({ model: 'slow', messages: [say('hello')] });
    const left = fetch(`${cluster.ingress[0]?.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
      signal: gone.signal,
    });
    const runs = async () => (await cluster.api(`/v1/runs?sessionKey=${sessionKey}`)).json.data;
    await until('it runs', async () => (await runs())[0]?.status === 'running');
    await until('it is followed', async () => (await openRunStreams()) === 1);
    gone.abort();
    await expect(left).rejects.toThrow();
    await until('the node has seen that the caller has gone', async () => (await openRunStreams()) === 0);
    const [run] = await runs();
    expect(run.status).toBe('running');
    await cluster.api(`/v1/runs/${run.runId}/cancel`, { method: 'POST' });
  });

  /** On the first node. */
  const openRunStreams = async () => {
    const answer = await fetch(`${cluster.ingress[0]?.internalUrl}/metrics`);
    return Number(/^turnkeeper_streams_open\{kind="run"\} (\d+)$/m.exec(await answer.text())?.[1]);
  };

  test('says that a run was cancelled', async () => {
    const sessionKey = randomUUID();
    const answer = complete({ model: 'slow' }, { 'x-session-key': sessionKey });
    const runs = async () => (await cluster.api(`/v1/runs?sessionKey=${sessionKey}`)).json.data;
    await until('it runs', async () => (await runs())[0]?.status === 'running');
    await cluster.api(`/v1/runs/${(await runs())[0].runId}/cancel`, { method: 'POST' });
    expect([(await answer).status, (await answer).json.error.code]).toEqual([409, 'run_final']);
  });
});

describe('a run that is cancelled', () => {
  const cancel = (runId: string) => cluster.api(`/v1/runs/${runId}/cancel`, { method: 'POST' });

  test('while it runs ends its turn, and the next one of its conversation goes on', async () => {
    const sessionKey = randomUUID();
    const running = await send({ sessionKey, agentId: 'slow' });
    const queued = await send({ sessionKey, agentId: 'slow' });
    await until('it runs', async () => (await wait(running, 0)).json.status === 'running');
    const watching = readStream(`/v1/runs/${running}/events`);
    expect((await cancel(running)).json).toMatchObject({ runId: running, status: 'cancelled' });
    const settled = { type: 'run.settled', data: { status: 'cancelled' } };
    expect((await watching).slice(-2)).toMatchObject([settled, { type: 'turn.interrupted' }]);
    await until('the next one runs', async () => (await wait(queued, 0)).json.status === 'running');
    await cancel(queued);
  });

  test('while it waits ends alone', async () => {
    const sessionKey = randomUUID();
    const running = await send({ sessionKey, agentId: 'slow' });
    const queued = await send({ sessionKey, agentId: 'slow' });
    await until('it runs', async () => (await wait(running, 0)).json.status === 'running');
    expect((await cancel(queued)).json).toMatchObject({ status: 'cancelled', attempts: 0 });
    expect((await wait(running, 0)).json.status).toBe('running');
    await cancel(running);
  });

  test('after its end is 409', async () => {
    const runId = await send();
    await wait(runId);
    const answer = await cancel(runId);
    expect([answer.status, answer.json.code]).toEqual([409, 'run_final']);
    expect((await wait(runId, 0)).json.status).toBe('ok');
  });
});

test('the timeline of an event tells its way', async () => {
  const runId = await send();
  await wait(runId);
  const { json } = await cluster.api(`/v1/events/${runId.replace('run_', 'evt_')}/timeline`);
  expect(json).toMatchObject({ runId, status: 'ok' });
  expect(json.data.map((entry: { step: string }) => entry.step)).toEqual(
    expect.arrayContaining(['accepted', 'claimed', 'settled']),
  );
});

test('a node that drains answers those who wait, tells streams to go elsewhere, and takes messages until others are found', async () => {
  const node = await cluster.add('ingress', { TURNKEEPER_LAME_DUCK_MS: '8000' });
  const runId = await send({ agentId: 'slow' });
  const headers = { authorization: `Bearer ${cluster.apiKey}` };
  const stream = await fetch(`${node.url}/v1/runs/${runId}/events`, { headers });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('stream.open');
  const waiting = cluster.api(`/v1/runs/${runId}?wait=50`, { node });
  // a later request that was answered says that the node has the earlier one
  await cluster.api(`/v1/runs/${runId}`, { node });
  node.signal('SIGTERM');
  expect((await waiting).json).toMatchObject({ runId });
  let rest = '';
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) rest += part.value;
  expect(rest).toMatch(/event: stream\.closing\n.*"reason":"drain"/);
  const ready = await fetch(`${node.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining' }]);
  const late = await cluster.api('/v1/messages', { body: { sessionKey: randomUUID(), text: 'hello' }, node });
  expect([late.status, late.headers.get('connection')]).toEqual([202, 'close']);
  await node.exited;
  await expect(cluster.api('/v1/runs', { node })).rejects.toThrow('fetch failed');
  expect((await wait(late.json.runId)).json).toMatchObject({ status: 'ok' });
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type AgentCall,
  type BootId,
  type MessageId,
  runAgent,
  type TranscriptEntry,
  TurnStream,
} from '@turnkeeper/core';
import { createEgress, type Egress } from '@turnkeeper/platform/egress';
import { systemClock, systemIds } from '@turnkeeper/platform/process';
import { createLogger, createMetrics } from '@turnkeeper/platform/telemetry';
import { agentRuntimes } from '@turnkeeper/session-worker/agents';
import { type FakeOpenAi, startFakeOpenAi } from '@turnkeeper/test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { API_KEY, configOf, turnOf } from './agent-call.fixture.ts';

const HISTORY_MAX = 500;
/** None of these conversations has any. */
const attachments = { find: async () => [], read: async () => null };
const none = { inc: () => undefined, observe: () => undefined };
const AGENT_METRICS = { staleFences: none, toolCalls: none, toolCallSeconds: none };

let fake: FakeOpenAi;
let open: Egress;
let closed: Egress;
const metrics = createMetrics({ service: 'test', version: '0' });
const cleanUp: (() => void)[] = [];

beforeAll(async () => {
  fake = await startFakeOpenAi();
  open = createEgress({ allow: ['loopback'], connectionsPerTenantMax: 10, metrics });
  closed = createEgress({ allow: [], connectionsPerTenantMax: 10, metrics });
});
afterEach(() => {
  for (const undo of cleanUp.splice(0)) undo();
  vi.restoreAllMocks();
});
afterAll(async () => {
  await fake.close();
  await open[Symbol.asyncDispose]();
  await closed[Symbol.asyncDispose]();
});

/** A server that answers as its test wants. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(request, response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '';
}

function chunk(choice: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
}
const word = (content: string) => chunk({ delta: { content } });
const FINISH = `${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;

interface Asked extends Partial<AgentCall> {
  readonly url: string;
  readonly text?: string;
  readonly entries?: readonly TranscriptEntry[];
  readonly egress?: Egress;
}

function ask({ url, text = 'hello', entries = [], egress = open, ...over }: Asked) {
  const runtimes = agentRuntimes({
    clock: systemClock,
    egress,
    attachments,
    metrics,
    historyMax: HISTORY_MAX,
    turnMsMax: 30_000,
  });
  const emitted: string[] = [];
  const call: AgentCall = {
    ...{ turn: turnOf(text), config: configOf(url), tryNumber: 1, history: () => Promise.resolve(entries) },
    input: async () => null,
    ...{ signal: new AbortController().signal, emit: (piece: string) => emitted.push(piece) },
    ...over,
  };
  return { emitted, reply: runtimes.openai.run(call) };
}

interface SeenMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

const user = (text: string): TranscriptEntry => ({ seq: '1', role: 'user', body: { text } });
const assistant = (text: string): TranscriptEntry => ({ seq: '1', role: 'assistant', body: { text } });

describe('a model behind an OpenAI-compatible endpoint', () => {
  it('is given system prompt, history and message in order, with the model and the key of the agent', async () => {
    const config = configOf(fake.url, { system: 'You are terse.' });
    const notice: TranscriptEntry = { seq: '1', role: 'notice', body: { text: 'not for models' } };
    const entries = [user('one'), assistant('two'), notice, user('three')];
    const { reply, emitted } = ask({ url: fake.url, config, entries, text: 'say it again' });
    expect(await reply).toEqual({ text: 'echo: say it again', usage: { inputTokens: 10, outputTokens: 4 } });
    expect(emitted).toEqual(['echo: ', 'say ', 'it ', 'again']);
    expect(fake.requests.at(-1)).toEqual({
      ...{ model: 'm', stream: true, authorization: `Bearer ${API_KEY}` },
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
        { role: 'user', content: 'say it again' },
      ],
    });
    expect(await metrics.text()).toMatch(/turnkeeper_agent_tokens_total{direction="output"} 4/);
  });

  it('is asked without a key when the agent has none', async () => {
    await ask({ url: fake.url, config: configOf(fake.url, { secret: () => Promise.resolve(null) }) }).reply;
    expect(fake.requests.at(-1)?.authorization).toBeUndefined();
  });

  it('is not asked with a key that no header can hold: that is for its owner to mend', async () => {
    const asked = fake.requests.length;
    const config = configOf(fake.url, { secret: () => Promise.resolve('sk-1\n') });
    await expect(ask({ url: fake.url, config }).reply).rejects.toMatchObject({ code: 'model_auth', retryable: false });
    expect(fake.requests).toHaveLength(asked);
  });

  it('is heard word by word, while it still speaks', async () => {
    const heard = Promise.withResolvers<void>();
    const pieces: string[] = [];
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(word('first '));
      heard.promise.then(() => response.end(word('second') + FINISH));
    });
    const emit = (piece: string) => {
      pieces.push(piece);
      heard.resolve();
    };
    expect((await ask({ url, emit }).reply).text).toBe('first second');
    expect(pieces).toEqual(['first ', 'second']);
  });

  it.each(['reasoning_content', 'reasoning'])('is heard thinking before it speaks (%s)', async (field) => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${chunk({ delta: { [field]: 'hm' } })}${word('so')}${FINISH}`);
    });
    const heard: (string | undefined)[][] = [];
    const { reply } = ask({ url, emit: (piece, kind) => heard.push([piece, kind]) });
    // what it thinks is no part of its answer
    expect((await reply).text).toBe('so');
    expect(heard).toEqual([
      ['hm', 'reasoning'],
      ['so', undefined],
    ]);
  });

  it('is hung up on in mid-stream when nobody waits any more', async () => {
    const gone = Promise.withResolvers<void>();
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(word('first'));
      response.on('close', gone.resolve);
    });
    const abort = new AbortController();
    const { reply } = ask({ url, signal: abort.signal, emit: () => abort.abort() });
    await expect(reply).rejects.toMatchObject({ name: 'AbortError' });
    await gone.promise;
  });

  it('is hung up on when it reports an error and does not stop', async () => {
    const gone = Promise.withResolvers<void>();
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"error":{"message":"m","code":"server_error"}}\n\n');
      response.on('close', gone.resolve);
    });
    await expect(ask({ url }).reply).rejects.toMatchObject({ code: 'model_error', retryable: true });
    await gone.promise;
  });
});

describe('what goes wrong with a model is told by code', () => {
  const error = (said: Record<string, unknown>) => JSON.stringify({ error: { message: 'words', ...said } });
  const stream = 'text/event-stream';
  const cases: readonly [string, { status?: number; headers?: Record<string, string>; body: string }, object][] = [
    ['401', { status: 401, body: error({}) }, { code: 'model_auth', retryable: false }],
    ['403', { status: 403, body: 'no JSON' }, { code: 'model_auth', retryable: false }],
    [
      '429',
      { status: 429, headers: { 'retry-after': '3' }, body: error({}) },
      { code: 'model_rate_limited', retryable: true, retryAfterMs: 3000 },
    ],
    [
      '429 that no waiting helps',
      { status: 429, body: error({ code: 'insufficient_quota' }) },
      { code: 'model_rate_limited', retryable: false },
    ],
    ['context length', { status: 400, body: error({ code: 'context_length_exceeded' }) }, { code: 'context_overflow' }],
    [
      'context length, llama.cpp',
      { status: 400, body: error({ code: 400, type: 'exceed_context_size_error' }) },
      { code: 'context_overflow' },
    ],
    [
      'context length, vLLM',
      { status: 400, body: error({ code: 400, type: 'BadRequestError', param: 'input_tokens' }) },
      { code: 'context_overflow' },
    ],
    ['413', { status: 413, body: '' }, { code: 'context_overflow', retryable: false }],
    ['a filtered question', { status: 400, body: error({ code: 'content_filter' }) }, { code: 'model_refused' }],
    [
      'a filtered answer',
      { headers: { 'content-type': stream }, body: word('x') + chunk({ delta: {}, finish_reason: 'content_filter' }) },
      { code: 'model_refused', retryable: false },
    ],
    ['another 400', { status: 400, body: error({ code: 'bad' }) }, { code: 'model_error', retryable: false }],
    ['404', { status: 404, body: error({}) }, { code: 'model_error', retryable: false }],
    ['500', { status: 500, body: error({}) }, { code: 'model_error', retryable: true }],
    ['503', { status: 503, body: '<html>' }, { code: 'model_error', retryable: true }],
    ['a redirect, not followed', { status: 302, headers: { location: '/' }, body: '' }, { code: 'model_error' }],
    [
      'an overload in mid-stream',
      { headers: { 'content-type': stream }, body: `data: ${error({ code: 429 })}\n\n` },
      { code: 'model_rate_limited', retryable: true },
    ],
    [
      'an answer that stops without its end',
      { headers: { 'content-type': stream }, body: word('half') },
      { code: 'agent_bad_response', retryable: true },
    ],
    [
      'an answer that is no JSON',
      { headers: { 'content-type': stream }, body: 'data: {"choices\n\n' },
      { code: 'agent_bad_response', retryable: true },
    ],
    ['a page of HTML', { body: '<html>hello</html>' }, { code: 'agent_bad_response' }],
  ];
  it.each(cases)('%s', async (_name, { status = 200, headers = {}, body }, expected) => {
    const url = await serve((_, response) => response.writeHead(status, headers).end(body));
    await expect(ask({ url }).reply).rejects.toMatchObject(expected);
  });

  it('a connection that is cut before the answer and one in mid-stream', async () => {
    const url = await serve((_, response) => response.destroy());
    await expect(ask({ url }).reply).rejects.toMatchObject({ code: 'agent_unreachable', retryable: true });
    const cut = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(word('half'), () => response.destroy());
    });
    const { reply, emitted } = ask({ url: cut });
    await expect(reply).rejects.toMatchObject({ code: 'agent_bad_response', retryable: true });
    expect(emitted).toEqual(['half']);
  });

  it('nobody at the address, and an address that is not allowed', async () => {
    const url = await serve(() => undefined);
    for (const undo of cleanUp.splice(0)) undo();
    await expect(ask({ url }).reply).rejects.toMatchObject({ code: 'agent_unreachable', retryable: true });
    await expect(ask({ url: fake.url, egress: closed }).reply).rejects.toMatchObject({
      ...{ code: 'egress_blocked', retryable: false },
    });
  });
});

describe('what a model is given of a long or broken history', () => {
  const seen = () => fake.requests.at(-1)?.messages ?? [];

  it('is the newest 500 messages at most, from a user on, the new one last', async () => {
    const entries = Array.from({ length: 600 }, (_, i) => (i % 2 === 0 ? user(`u${i}`) : assistant(`a${i}`)));
    await ask({ url: fake.url, entries, text: 'now' }).reply;
    expect(seen()).toHaveLength(HISTORY_MAX - 1);
    expect(seen()[0]).toEqual({ role: 'user', content: 'u102' });
    expect(seen().at(-2)).toEqual({ role: 'assistant', content: 'a599' });
    expect(seen().at(-1)).toEqual({ role: 'user', content: 'now' });
  });

  it('has one result for every call, wherever a crash or the window cut', async () => {
    const step = (...ids: string[]): TranscriptEntry => ({
      ...{ seq: '1', role: 'tool_call' },
      body: { blocks: ids.map((id) => ({ type: 'toolCall', id, name: 'look', arguments: { id } })) },
    });
    const result = (callId: string): TranscriptEntry => ({
      ...{ seq: '1', role: 'tool_result' },
      body: { callId, name: 'look', text: `of ${callId}` },
    });
    const round = [user('u'), step('1', '2'), result('2'), result('1'), assistant('a'), user('v'), step('3')];
    for (const entries of round.map((_, i) => round.slice(i)).concat([[...round, user('w'), result('3')]])) {
      await ask({ url: fake.url, entries }).reply;
      let owed: string[] = [];
      for (const message of seen() as readonly SeenMessage[]) {
        if (message.role === 'tool') expect(message.tool_call_id).toBe(owed.shift());
        else {
          expect(owed).toEqual([]);
          owed = message.tool_calls?.map(({ id }) => id) ?? [];
        }
      }
      expect(owed).toEqual([]);
    }
  });
});

describe('a turn that runs a model', () => {
  async function run(text: string) {
    const lines: string[] = [];
    const claimed = turnOf(text);
    const live = {
      publish: () => undefined,
      subscribe: () => () => undefined,
      subscribeTenant: () => () => undefined,
      connected: false,
      isWatched: () => false,
    };
    const end = await runAgent(
      {
        ...{ claimed, messageId: systemIds.next() as MessageId, signal: new AbortController().signal },
        ...{ agentVersion: null, runtime: 'none', hasBegun: false, limits: null, active: () => undefined },
      },
      {
        agents: { get: () => Promise.resolve(configOf(fake.url)) },
        runtimes: agentRuntimes({
          ...{ clock: systemClock, egress: open, attachments, metrics, historyMax: HISTORY_MAX, turnMsMax: 30_000 },
        }),
        transcriptBefore: () => Promise.resolve([user('canary of history')]),
        earlierOf: async () => [],
        inputs: { ask: async () => ({ result: 'stale' }), resolvedFor: async () => null },
        ...{ onAsked: () => undefined, metrics: AGENT_METRICS },
        stream: new TurnStream(live, systemClock),
        clock: systemClock,
        ids: systemIds,
        log: createLogger({
          level: 'debug',
          fields: { bootId: systemIds.next() as BootId },
          destination: { write: (line) => lines.push(line) },
        }),
        onFirstText: () => undefined,
      },
    );
    return { end, lines };
  }

  it('asks again after failures that pass, and not more than twice', async () => {
    const before = fake.requests.length;
    fake.script({ status: 503 }, { status: 429 });
    expect((await run('hi')).end).toMatchObject({ how: 'replied', reply: { text: 'echo: hi' } });
    expect(fake.requests.length - before).toBe(3);
    fake.script({ status: 503 }, { status: 503 }, { status: 503 });
    expect((await run('hi')).end).toMatchObject({ how: 'failed', code: 'model_error' });
    expect(fake.requests.length - before).toBe(6);
  });

  it('does not ask again after a word was said, nor when it would not help', async () => {
    const before = fake.requests.length;
    fake.script({ say: 'one two three', cutAfter: 2, gapMs: 20 });
    expect((await run('hi')).end).toMatchObject({ how: 'failed', code: 'agent_bad_response' });
    fake.script({ status: 401 });
    expect((await run('hi')).end).toMatchObject({ how: 'failed', code: 'model_auth' });
    expect(fake.requests.length - before).toBe(2);
  });

  it('writes neither key nor text nor the words of an error anywhere', async () => {
    const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => undefined),
    );
    const cut = { say: 'canary of answer', cutAfter: 2, gapMs: 20 };
    fake.script({ status: 400 }, { status: 500 }, { status: 500 }, { status: 500 }, cut);
    const told: string[] = [];
    for (let i = 0; i < 3; i++) told.push(...(await run('canary of text')).lines);
    expect(told).toHaveLength(3);
    for (const secret of [API_KEY, 'canary', 'scripted']) expect(told.join('')).not.toContain(secret);
    for (const print of printed) expect(print).not.toHaveBeenCalled();
  });
});

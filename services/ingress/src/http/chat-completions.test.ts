import { formatId, type MessageId, type TurnId } from '@turnkeeper/core';
import { CompletionChunkSchema, CompletionErrorSchema, CompletionSchema } from '@turnkeeper/protocol';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { mainAgentId, otherAgentId, TestPorts, TOKEN, tokenOf } from './test-ports.ts';

const turnId = '60000000-0000-7000-8000-000000000000' as TurnId;
const trn = formatId('trn', turnId);
const messageId = '70000000-0000-7000-8000-000000000000' as MessageId;
const hello = { model: 'main', messages: [{ role: 'user', content: 'hello' }] };

function setUp() {
  const ports = new TestPorts();
  const app = ports.app();
  const post = (body: unknown, headers: Readonly<Record<string, string>> = {}, payloadAsStream = false) =>
    app.inject({
      ...{ method: 'POST', url: '/v1/chat/completions', payloadAsStream },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    });
  /** An answer while it comes. */
  const read = (body: unknown) => {
    const got = { body: '' };
    const whole = post(body, {}, true).then(async (answer) => {
      for await (const chunk of answer.stream()) got.body += String(chunk);
    });
    return { got, whole };
  };
  return { ports, post, read };
}

/** The id of the run that the door follows. */
async function followed(ports: TestPorts, count = 1): Promise<string> {
  await vi.waitFor(() => expect([ports.accepted.length, ports.listeners.size]).toEqual([count, 1]));
  return formatId('run', ports.accepted.at(-1)?.eventId ?? '');
}

/** What the commit of a turn writes. */
function end(ports: TestPorts, { status = 'ok', text = 'hi there' as string | null, error = '', usage = {} } = {}) {
  const item = ports.accepted.at(-1);
  if (item === undefined) throw new Error('nothing was accepted');
  const runIds = [formatId('run', item.eventId)];
  const seq = ports.lane.head + 1;
  const reply = text === null ? null : { text, messageId, seq: `${seq}` };
  ports.settle(item.eventId, { status: status as 'ok', reply, turnId });
  const data = { messageId: formatId('msg', messageId), role: 'assistant', author: 'agent', text };
  const about = { turnId: trn, runIds };
  ports.lane.write(
    seq,
    {
      ...about,
      type: 'run.settled',
      data: { runId: runIds[0], status, ...(error !== '' && { error: { code: error } }) },
    },
    ...(text === null ? [] : [{ turnId: trn, type: 'message.created', data }]),
    { ...about, type: 'turn.finished', data: { status, usage } },
  );
  ports.say({ type: 'run.settled', seq: `${seq}`, data: {} });
}

/** The frames of a streamed answer. */
const framesOf = ({ body }: Pick<LightMyRequestResponse, 'body'>) =>
  [...body.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => (json === '[DONE]' ? json : JSON.parse(json)));

describe('POST /v1/chat/completions', () => {
  it('answers with the reply of the run, under its id, and what the agent counted', async () => {
    const { ports, post } = setUp();
    const answer = post(hello);
    const runId = await followed(ports);
    end(ports, { usage: { inputTokens: 5, outputTokens: 2 } });
    const { statusCode, headers, body } = await answer;
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(headers).not.toHaveProperty('x-should-retry');
    expect(CompletionSchema.parse(JSON.parse(body))).toMatchObject({
      ...{ id: runId, object: 'chat.completion', model: 'main' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi there' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    });
  });

  it('streams the text as it comes, each piece once, and what was lost at the end', async () => {
    const { ports, read } = setUp();
    const { got, whole } = read({ ...hello, stream: true, stream_options: { include_usage: true } });
    const runId = await followed(ports);
    const about = { turnId: trn, runIds: [runId], attempt: 1, type: 'message.delta' };
    await vi.waitFor(
      () => {
        // nothing is passed on before the lane was replayed
        ports.say({ ...about, data: { part: 0, offset: 0, text: 'hi' } });
        expect(framesOf(got).at(-1)).toMatchObject({ choices: [{ delta: { content: 'hi' } }] });
      },
      { timeout: 10_000 },
    );
    end(ports);
    await whole;
    const frames = framesOf(got);
    expect(frames.at(-1)).toBe('[DONE]');
    const chunks = frames.slice(0, -1).map((frame) => CompletionChunkSchema.parse(frame));
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('hi there');
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 0 } });
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set([runId]));
  });

  it('says the last message in the lane of X-Session-Key, which knows what went before', async () => {
    const { ports, post } = setUp();
    const messages = [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }, ...hello.messages];
    const key = Buffer.from('kä').toString('latin1');
    const answer = post({ ...hello, messages }, { 'x-session-key': key });
    await followed(ports);
    expect(ports.accepted[0]).toMatchObject({ sessionKey: 'kä', agentId: mainAgentId, body: { text: 'hello' } });
    expect(ports.accepted[0]?.body).not.toHaveProperty('before');
    end(ports);
    expect((await answer).statusCode).toBe(200);
  });

  it('says it in a lane of its own without one, with what went before', async () => {
    const { ports, post } = setUp();
    const messages = [
      ...[
        { role: 'system', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
      ],
      ...[
        { role: 'assistant', content: 'b', tool_calls: [] },
        { role: 'assistant', content: null },
      ],
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
    ];
    const answer = post({ ...hello, model: formatId('agt', otherAgentId), messages });
    await followed(ports);
    end(ports);
    expect((await answer).json().model).toBe('other');
    expect(ports.accepted[0]).toMatchObject({
      agentId: otherAgentId,
      sessionKey: expect.stringMatching(/^once:/),
      body: {
        text: 'one\ntwo',
        before: [
          { role: 'user', text: 'a' },
          { role: 'assistant', text: 'b' },
        ],
      },
    });
  });

  it('takes a repetition under an idempotency key for the same message, and answers it alike', async () => {
    const { ports, post } = setUp();
    const headers = { 'idempotency-key': 'one' };
    const first = post(hello, headers);
    await followed(ports);
    end(ports);
    const { choices, id } = (await first).json();
    const again = await post(hello, headers);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json()).toMatchObject({ choices, id });
    expect(ports.accepted).toHaveLength(1);
    const elsewhere = await post(hello, { ...headers, 'x-session-key': 'k' });
    expect([elsewhere.statusCode, elsewhere.json().error.code]).toEqual([409, 'idempotency_mismatch']);
  });
});

describe('a run that has no reply for the door', () => {
  it.each([
    [{ status: 'no_reply', text: null, error: '' }, 200, undefined],
    [{ status: 'error', text: null, error: 'model_auth' }, 502, 'agent_bad_response'],
    [{ status: 'error', text: null, error: 'inactivity_timeout' }, 502, 'agent_unreachable'],
    [{ status: 'timeout', text: null, error: 'turn_timeout' }, 502, 'agent_unreachable'],
    [{ status: 'parked', text: null, error: 'poison' }, 502, 'agent_bad_response'],
    [{ status: 'cancelled', text: null, error: '' }, 409, 'run_final'],
    [{ status: 'discarded', text: null, error: 'stopped' }, 409, 'run_final'],
  ])('%j', async (how, status, code) => {
    const { ports, post } = setUp();
    const answer = post(hello);
    const runId = await followed(ports);
    end(ports, how);
    const { statusCode, headers, ...rest } = await answer;
    expect([statusCode, rest.json().error?.code]).toEqual([status, code]);
    if (status === 200) return expect(rest.json().choices[0].message.content).toBe('');
    // what was accepted is not sent again by itself
    expect(headers['x-should-retry']).toBe('false');
    const { error } = CompletionErrorSchema.parse(rest.json());
    expect(error).toMatchObject({ runId, param: null, message: expect.stringContaining(how.error || how.status) });
  });

  it('because it asks a person is left, and the answer says where to answer', async () => {
    const { ports, post } = setUp();
    const answer = post(hello);
    const runId = await followed(ports);
    const item = ports.accepted[0];
    if (item !== undefined) ports.settle(item.eventId, { status: 'waiting' });
    const data = { runId, eventId: runId.replace('run', 'evt'), inputId: 'inp_1' };
    ports.lane.write(1, { turnId: trn, runIds: [runId], type: 'run.waiting', data });
    ports.say({ type: 'run.waiting', seq: '1', runIds: [runId], data });
    const { error } = (await answer).json();
    expect(error).toMatchObject({ code: 'deadline_exceeded', type: 'server_error', runId });
    expect(error.message).toContain('/v1/inputs/inp_1/answer');
  });

  it('yet goes on when the node goes away: with a key it is asked for again', async () => {
    const { ports, post } = setUp();
    const answers = [post(hello), post(hello, { 'idempotency-key': 'one' })];
    await vi.waitFor(() => expect(ports.accepted).toHaveLength(2));
    await vi.waitFor(() => expect(ports.listeners.size).toBe(2));
    ports.drain();
    const [plain, keyed] = await Promise.all(answers);
    expect(plain?.json().error).toMatchObject({ code: 'deadline_exceeded', runId: expect.stringMatching(/^run_/) });
    expect([plain?.headers['x-should-retry'], keyed?.headers['x-should-retry']]).toEqual(['false', 'true']);
  });

  it('ends a stream with the error and without [DONE]', async () => {
    const { ports, post } = setUp();
    const answer = post({ ...hello, stream: true });
    await followed(ports);
    end(ports, { status: 'error', text: null, error: 'model_error' });
    const frames = framesOf(await answer);
    expect(frames.at(-1)).toMatchObject({ error: { code: 'agent_bad_response', type: 'server_error' } });
    expect(frames).not.toContain('[DONE]');
  });
});

describe('what is refused, in the form of OpenAI, and leaves nothing', () => {
  const say = (...messages: object[]) => ({ ...hello, messages });
  it.each([
    ['no JSON', '{', 400, 'invalid_json', null],
    ['an unknown field', { ...hello, tezt: 1 }, 400, 'unknown_field', 'tezt'],
    ['no model', { messages: hello.messages }, 400, 'missing_field', 'model'],
    ['a model that is not there', { ...hello, model: 'gpt-4o' }, 404, 'agent_not_found', 'model'],
    ['no messages', say(), 400, 'invalid_field', 'messages'],
    [
      "a last word that is not the user's",
      say({ role: 'assistant', content: 'a' }),
      400,
      'invalid_field',
      'messages[0].role',
    ],
    ['nothing said', say({ role: 'user', content: '' }), 400, 'invalid_field', 'messages[0].content'],
    [
      'an image',
      say({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }),
      400,
      'invalid_field',
      'messages[0].content',
    ],
    [
      'too long a text',
      say({ role: 'user', content: 'x'.repeat(256 * 1024 + 1) }),
      413,
      'body_too_large',
      'messages[0].content',
    ],
    ['two choices', { ...hello, n: 2 }, 400, 'unsupported_param', 'n'],
    ['tools', { ...hello, tools: [{ type: 'function' }] }, 400, 'unsupported_param', 'tools'],
    [
      'a schema for the answer',
      { ...hello, response_format: { type: 'json_object' } },
      400,
      'unsupported_param',
      'response_format',
    ],
  ])('%s', async (...[, body, status, code, param]) => {
    const { ports, post } = setUp();
    const answer = await post(body);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8']);
    expect(CompletionErrorSchema.parse(answer.json()).error).toMatchObject({
      code,
      param,
      type: 'invalid_request_error',
    });
    expect(ports.accepted).toEqual([]);
  });

  it('takes what an agent decides and what says nothing', async () => {
    const { ports, post } = setUp();
    const answer = post({ ...hello, temperature: 0.5, n: 1, stop: null, tools: [], user: 'u', stream: null });
    await followed(ports);
    end(ports);
    expect((await answer).statusCode).toBe(200);
  });

  it('a key without the scope, a suspended tenant, a rate, a full lane, a store that is away', async () => {
    const { ports, post } = setUp();
    const refused = async (headers = {}) => {
      const answer = await post(hello, headers);
      const { type, code } = answer.json().error;
      return [answer.statusCode, type, code, answer.headers['x-should-retry']];
    };
    ports.addKey('readerkey', { scopes: ['runs:read'] });
    const reader = { authorization: `Bearer ${tokenOf('readerkey')}` };
    expect(await refused(reader)).toEqual([403, 'permission_error', 'scope_missing', undefined]);
    expect(await refused({ authorization: '' })).toEqual([401, 'authentication_error', 'unauthenticated', undefined]);
    ports.laneIsFull = true;
    expect(await refused()).toEqual([429, 'rate_limit_error', 'lane_full', undefined]);
    ports.laneIsFull = false;
    ports.storeIsAway = true;
    expect((await refused()).slice(0, 3)).toEqual([503, 'server_error', 'store_unavailable']);
    ports.storeIsAway = false;
    ports.setTenant({ limits: { ratePerSecond: 1, burst: 1, turnSlots: 1, queuedPerLane: 1, queuedPerTenant: 1 } });
    ports.rate = { allowed: false, limit: 1, remaining: 0, resetMs: 1000, retryAfterMs: 1000 };
    expect(await refused()).toEqual([429, 'rate_limit_error', 'rate_limited', undefined]);
    ports.setTenant({ status: 'suspended' });
    expect(await refused()).toEqual([403, 'permission_error', 'tenant_suspended', undefined]);
    expect(ports.accepted).toEqual([]);
  });

  it.each([['a\tb'], ['x'.repeat(513)], ['\xff']])('a session key that is none: %j', async (key) => {
    const { ports, post } = setUp();
    const answer = await post(hello, { 'x-session-key': key });
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'malformed_key']);
    expect(ports.accepted).toEqual([]);
  });
});

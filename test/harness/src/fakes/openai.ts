import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeRequest, type FakeServer, sendJson, startFakeServer } from './http-server.ts';

/**
 * A fake OpenAI-compatible server.
 *
 * `POST /v1/chat/completions` (stream or not) answers `echo: <last user text>`, word by word.
 * Scripted by text: marks in the last user message, each used once per request:
 *   `[[delay MS]]` before the first token · `[[gap MS]]` between words · `[[say TEXT]]` the whole answer ·
 *   `[[tool NAME {JSON}]]` a call of that tool, but after its result: `result: <it>` ·
 *   `[[status N]]` an error with that status · `[[cut N]]` connection cut after N words · `[[hang]]` never answers.
 * Scripted by command: `POST /control {"next":[{status?, retryAfter?, delayMs?, gapMs?, say?, cutAfter?, hang?}]}`: the next
 * requests take these steps, in order, before any mark is looked at.
 * `GET /control/requests`: what came, in order: `{model, messages, stream, authorization, at}`. `DELETE /control` forgets all.
 */
export interface FakeOpenAi extends FakeServer {
  readonly requests: readonly SeenCompletion[];
  script(...steps: CompletionStep[]): void;
}

export interface CompletionStep {
  readonly status?: number;
  readonly retryAfter?: number;
  readonly delayMs?: number;
  readonly gapMs?: number;
  readonly say?: string;
  readonly cutAfter?: number;
  readonly hang?: boolean;
  readonly tool?: { readonly name: string; readonly input: string };
}

export interface SeenCompletion {
  readonly model: string;
  readonly stream: boolean;
  readonly authorization: string | undefined;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** Starts it on a free loopback port, or the one given. */
export async function startFakeOpenAi(port = 0): Promise<FakeOpenAi> {
  const requests: SeenCompletion[] = [];
  const steps: CompletionStep[] = [];
  const server = await startFakeServer(async (request, response) => {
    if (request.path === '/control' || request.path === '/control/requests')
      return control(request, response, { requests, steps });
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions')
      return sendJson(response, 404, { error: { message: 'unknown path' } });
    const body = JSON.parse(request.body) as { model: string; stream?: boolean; messages: SeenCompletion['messages'] };
    requests.push({
      model: body.model,
      stream: body.stream === true,
      authorization: request.headers.authorization,
      messages: body.messages,
    });
    const text = lastUserText(body.messages);
    const last = body.messages.at(-1);
    const marks = last?.role === 'tool' ? { say: `result: ${last.content}` } : marksOf(text);
    await complete(response, steps.shift() ?? marks, { text, stream: body.stream === true, model: body.model });
  }, port);
  return { ...server, requests, script: (...next) => steps.push(...next) };
}

function control(
  request: FakeRequest,
  response: ServerResponse,
  state: { requests: SeenCompletion[]; steps: CompletionStep[] },
): void {
  if (request.method === 'DELETE') {
    state.requests.length = 0;
    state.steps.length = 0;
  }
  if (request.method === 'POST') state.steps.push(...(JSON.parse(request.body) as { next: CompletionStep[] }).next);
  sendJson(response, 200, request.path === '/control/requests' ? state.requests : { ok: true });
}

async function complete(
  response: ServerResponse,
  step: CompletionStep,
  asked: { text: string; stream: boolean; model: string },
): Promise<void> {
  if (step.hang === true) return;
  if (step.delayMs !== undefined) await sleep(step.delayMs);
  if (step.status !== undefined) {
    if (step.retryAfter !== undefined) response.setHeader('retry-after', String(step.retryAfter));
    return sendJson(response, step.status, {
      error: { message: `scripted ${step.status}`, type: 'scripted', code: null },
    });
  }
  const answer = step.say ?? `echo: ${asked.text}`;
  const usage = {
    prompt_tokens: 10,
    completion_tokens: answer.split(' ').length,
    total_tokens: 10 + answer.split(' ').length,
  };
  const head = { id: 'chatcmpl-fake', created: 1_700_000_000, model: asked.model };
  if (!asked.stream) {
    return sendJson(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answer } }],
      usage,
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const chunk = (choice: unknown, extra: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [choice], ...extra })}\n\n`,
    );
  if (step.tool !== undefined) {
    const call = { index: 0, id: `call_${randomUUID()}`, type: 'function' };
    const named = { ...call, function: { name: step.tool.name, arguments: step.tool.input } };
    chunk({ index: 0, delta: { role: 'assistant', content: null, tool_calls: [named] }, finish_reason: null });
    chunk({ index: 0, delta: {}, finish_reason: 'tool_calls' }, { usage });
    response.end('data: [DONE]\n\n');
    return;
  }
  const words = answer.split(/(?<= )/);
  for (const [i, word] of words.entries()) {
    if (step.cutAfter === i) {
      response.destroy();
      return;
    }
    if (i > 0 && step.gapMs !== undefined) await sleep(step.gapMs);
    chunk({ index: 0, delta: i === 0 ? { role: 'assistant', content: word } : { content: word }, finish_reason: null });
  }
  chunk({ index: 0, delta: {}, finish_reason: 'stop' }, { usage });
  response.end('data: [DONE]\n\n');
}

function lastUserText(messages: SeenCompletion['messages']): string {
  const content = messages.findLast((one) => one.role === 'user')?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

function marksOf(text: string): CompletionStep {
  const mark = (name: string) => new RegExp(`\\[\\[${name} ([^\\]]*)\\]\\]`).exec(text)?.[1];
  const number = (name: string) => {
    const value = mark(name);
    return value === undefined ? undefined : Number(value);
  };
  const entries = {
    status: number('status'),
    delayMs: number('delay'),
    gapMs: number('gap'),
    say: mark('say'),
    cutAfter: number('cut'),
    hang: text.includes('[[hang]]') || undefined,
    tool: toolOf(text),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

function toolOf(text: string): CompletionStep['tool'] {
  const [, name, input] = /\[\[tool (\w+) (\{.*\})\]\]/s.exec(text) ?? [];
  return name === undefined || input === undefined ? undefined : { name, input };
}

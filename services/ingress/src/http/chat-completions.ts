import {
  AppError,
  formatId,
  type Ids,
  type InboundMessage,
  type Logger,
  StoreError,
  type Traceparent,
} from '@turnkeeper/core';
import {
  type CompletionRequest,
  CompletionRequestSchema,
  completionText,
  NoQuerySchema,
  SessionKeySchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  completionErrorOf,
  completionOf,
  type SpokenRun,
  secondsOf,
  spokenOf,
} from '../completions/completion-answer.ts';
import { type CompletionHead, CompletionStream } from '../completions/completion-stream.ts';
import { FollowedRun } from '../completions/followed-run.ts';
import { GrowingText } from '../completions/growing-text.ts';
import { type AcceptParts, acceptAndJoin, type Joined } from '../intake/accept-and-join.ts';
import type { Targets } from '../intake/targets.ts';
import type { Access, Caller } from './access.ts';
import { completionProblems } from './completion-problems.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { judged } from './problems.ts';
import type { RateGate } from './rate-gate.ts';
import { inRequestSpan } from './request-span.ts';
import { parseBody, parseQuery } from './requests.ts';

export interface ChatCompletionParts extends AcceptParts {
  readonly access: Access;
  readonly rates: RateGate;
  readonly targets: Pick<Targets, 'agent'>;
  readonly ids: Ids;
  readonly logger: Logger;
}

const PATH = '/v1/chat/completions';
/** Below the ten minutes after which clients of OpenAI give up by themselves. */
const ANSWER_MS_MAX = 590_000;
/** Tells clients of OpenAI whether to send the request again by themselves, as they do for 409, 429 and 5xx. */
const RETRY_HEADER = 'x-should-retry';

/**
 * `POST /v1/chat/completions`: one message to a lane, and the reply of its run as the answer. What was accepted goes on
 * whatever becomes of the connection, so a request that came that far is never repeated by itself, unless its
 * `Idempotency-Key` makes that safe.
 */
export function registerChatCompletions(app: FastifyInstance, parts: ChatCompletionParts): void {
  const keys = new IdempotencyKeys(PATH);
  const route = { onRequest: parts.access.requires('messages:write'), errorHandler: completionProblems(parts.logger) };
  app.post(PATH, route, (request, reply) => {
    const span = { tracer: parts.tracer, name: `POST ${PATH}` };
    return inRequestSpan(request, span, (traceparent) => complete(request, reply, { parts, keys, traceparent }));
  });
}

interface Door {
  readonly parts: ChatCompletionParts;
  readonly keys: IdempotencyKeys;
  readonly traceparent: Traceparent | null;
}

async function complete(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<FastifyReply> {
  const { parts } = door;
  const caller = parts.access.callerOf(request);
  await parts.rates.take(caller.tenant, reply);
  parseQuery(NoQuerySchema, request.query);
  const body = parseBody(CompletionRequestSchema, request.body);
  const message = await inboundOf(body, request, { ...door, caller });
  const isKeyed = message.idempotency !== null;
  try {
    return await acceptAndJoin(message, parts, (joined) =>
      answer(joined, { request, reply, parts, caller, body, isKeyed, model: message.agent.name }),
    );
  } catch (error) {
    // it may have been stored; whoever sends it again without a key may say it twice
    if (error instanceof StoreError && !isKeyed) reply.header(RETRY_HEADER, 'false');
    throw error;
  }
}

async function inboundOf(
  body: CompletionRequest,
  request: FastifyRequest,
  { parts, keys, caller, traceparent }: Door & { readonly caller: Caller },
): Promise<InboundMessage> {
  const { tenant, key } = caller;
  const agent = await parts.targets.agent(tenant.tenantId, body.model);
  const named = sessionKeyOf(request);
  const said = body.messages.map((message) => ({ role: message.role, text: completionText(message) }));
  const text = said.at(-1)?.text ?? '';
  // a lane that is named knows what went before; one that begins now is told
  const before = named === null ? said.slice(0, -1).flatMap(({ role, text }) => spoken(role, text)) : [];
  return {
    ...{ tenant, agent, account: null, kind: 'message', traceparent, onQuota: 'answer' },
    target: { sessionKey: named ?? `once:${parts.ids.next()}` },
    content: { text, ...(before.length > 0 && { before }) },
    idempotency: keys.of(request, named === null ? body : { ...body, sessionKey: named }, key),
  };
}

function spoken(role: string, text: string) {
  return (role === 'user' || role === 'assistant') && text !== '' ? [{ role, text } as const] : [];
}

/** Null: none is named. Headers come byte by byte; what is no UTF-8 is no key. @throws AppError `malformed_key` */
function sessionKeyOf({ headers }: FastifyRequest): string | null {
  const header = headers['x-session-key'];
  if (header === undefined) return null;
  const bytes = Buffer.from(String(header), 'latin1');
  const key = bytes.toString('utf8');
  if (SessionKeySchema.safeParse(key).success && bytes.equals(Buffer.from(key))) return key;
  const message = 'X-Session-Key: 1 to 512 bytes of UTF-8 without control characters';
  throw new AppError({ code: 'malformed_key', message });
}

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly parts: ChatCompletionParts;
  readonly caller: Caller;
  readonly body: CompletionRequest;
  readonly isKeyed: boolean;
  readonly model: string;
}

async function answer({ acceptance, run, joined }: Joined, asked: Asked): Promise<FastifyReply> {
  const { reply, parts, caller, body, model } = asked;
  reply.isTimed = false;
  if (acceptance.status === 'duplicate') reply.header('idempotent-replayed', 'true');
  const head = { id: formatId('run', run.runId), created: secondsOf(run.createdAt), model };
  const text = new GrowingText();
  let stream: CompletionStream | null = null;
  const followed = new FollowedRun({
    runId: head.id,
    onPiece: (piece) => stream?.isSlow === false && stream.text(text.add(piece)),
    onBeat: () => stream?.beat(),
    isWaiting: async () => (await parts.runs.get(run.tenantId, run.runId))?.status === 'waiting',
  });
  reply.raw.once('close', () => followed.leave('the reader has gone'));
  reply.raw.once('error', () => followed.leave('the reader has gone'));
  await joined.follow(followed, { run, caller });
  if (body.stream !== true) return answerWhole(followed, head, asked);
  const onSlow = () => followed.leave('the reader has gone');
  stream = new CompletionStream(reply, { head, clock: parts.clock, onSlow });
  try {
    const said = spokenOf(await followed.over, head.id);
    finish(stream, { said, text, head, withUsage: body.stream_options?.include_usage === true });
  } catch (error) {
    stream.fail(completionErrorOf(judged(error, asked.request, parts.logger)));
  }
  return reply;
}

async function answerWhole(followed: FollowedRun, head: CompletionHead, asked: Asked): Promise<FastifyReply> {
  const { reply, parts, isKeyed } = asked;
  const deadline = new AbortController();
  void parts.clock.sleep(ANSWER_MS_MAX, deadline.signal).then(() => followed.leave('time is over'));
  const over = await followed.over;
  deadline.abort();
  if ('unfollowed' in over && over.unfollowed === 'the reader has gone') return reply.hijack();
  // the run goes on, and the same key finds it
  reply.header(RETRY_HEADER, String(isKeyed && 'unfollowed' in over));
  const said = spokenOf(over, head.id);
  reply.removeHeader(RETRY_HEADER);
  return reply.send(completionOf(head, said));
}

function finish(
  stream: CompletionStream,
  { said, text, head, withUsage }: { said: SpokenRun; text: GrowingText; head: CompletionHead; withUsage: boolean },
): void {
  const rest = text.rest(said.text);
  if (rest === null) {
    const message = `the turn was begun anew and says something else than was sent: GET /v1/runs/${head.id} has it`;
    throw new AppError({ code: 'agent_bad_response', message, runId: head.id });
  }
  stream.text(rest);
  stream.end(withUsage ? said.usage : null);
}

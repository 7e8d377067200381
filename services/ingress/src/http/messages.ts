import {
  type Acceptance,
  type AttachmentRecords,
  formatId,
  HOPS_HEADER,
  hopsIn,
  type InboundMessage,
  type LiveEvent,
  type RunRecord,
  type RunStatus,
  type Traceparent,
} from '@turnkeeper/core';
import {
  type MessageAnswer,
  MessageQuerySchema,
  type MessageRequest,
  MessageRequestSchema,
  type StreamFilterQuery,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AcceptParts, acceptAndJoin, acceptOverHttp, firstRun } from '../intake/accept-and-join.ts';
import { filesOf } from '../intake/message-files.ts';
import type { Targets } from '../intake/targets.ts';
import type { Access, Caller } from './access.ts';
import { IdempotencyKeys } from './idempotency.ts';
import type { RateGate } from './rate-gate.ts';
import { inRequestSpan } from './request-span.ts';
import { parseBody, parseQuery } from './requests.ts';

export interface MessageParts extends AcceptParts {
  readonly access: Access;
  readonly rates: RateGate;
  readonly targets: Targets;
  readonly attachments: Pick<AttachmentRecords, 'find'>;
}

const PATH = '/v1/messages';

/** `POST /v1/messages`: accepts one message; 202 leaves only after its commit. */
export function registerMessages(app: FastifyInstance, parts: MessageParts): void {
  const keys = new IdempotencyKeys(PATH);
  app.post(PATH, { onRequest: parts.access.requires('messages:write') }, async (request, reply) => {
    const span = { tracer: parts.tracer, name: 'POST /v1/messages' };
    return inRequestSpan(request, span, (traceparent) => answer(request, reply, { parts, keys, traceparent }));
  });
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  from: { readonly parts: MessageParts; readonly keys: IdempotencyKeys; readonly traceparent: Traceparent | null },
) {
  const { parts, keys, traceparent } = from;
  const caller = parts.access.callerOf(request);
  await parts.rates.take(caller.tenant, reply);
  const { stream, ...filter } = parseQuery(MessageQuerySchema, request.query);
  const body = parseBody(MessageRequestSchema, request.body);
  const message = await inboundOf(body, { parts, caller, keys, request, traceparent });
  if (stream === 'true') return answerWithStream(message, { parts, caller, reply, filter });
  const acceptance = await acceptOverHttp(message, parts);
  const first = acceptance.status === 'duplicate' ? await firstRun(acceptance, parts) : null;
  reply.code(202).header('content-type', 'application/json; charset=utf-8');
  if (first !== null) reply.header('idempotent-replayed', 'true');
  return JSON.stringify(answerOf(acceptance, first));
}

interface Request {
  readonly parts: MessageParts;
  readonly caller: Caller;
  readonly keys: IdempotencyKeys;
  readonly request: FastifyRequest;
  readonly traceparent: Traceparent | null;
}

async function inboundOf(
  body: MessageRequest,
  { parts, caller, keys, request, traceparent }: Request,
): Promise<InboundMessage> {
  const { agent, account } = await parts.targets.resolve(caller.tenant.tenantId, body);
  const { source, sessionKey, text, metadata, busyMode } = body;
  const refs = (body.attachments ?? []).map(({ ref }) => ref);
  const { attachments, uses } = await filesOf(caller, refs, parts);
  return {
    tenant: caller.tenant,
    agent,
    account,
    target: source === undefined ? { sessionKey: sessionKey ?? '' } : { source },
    kind: body.kind ?? 'message',
    content: {
      text,
      ...(attachments.length > 0 && { attachments }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(busyMode === undefined ? {} : { busyMode }),
      ...hopsIn(request.headers[HOPS_HEADER]),
    },
    uses,
    idempotency: keys.of(request, body, caller.key),
    traceparent,
    onQuota: 'answer',
  };
}

/** The answer to an acceptance; of a duplicate with what became of the first one. */
export function answerOf(
  { status, eventId, lane, partition, sessionKey, position }: Acceptance,
  first: RunRecord | null,
) {
  const runId = formatId('run', eventId);
  const runStatus: RunStatus = first?.status ?? 'queued';
  return {
    runId,
    eventId: `evt${runId.slice('run'.length)}`,
    sessionKey: first?.sessionKey ?? sessionKey,
    slot: lane.slot,
    partition,
    status,
    runStatus,
    position,
  } satisfies MessageAnswer;
}

function answerWithStream(
  message: InboundMessage,
  { parts, caller, reply, filter }: StreamAnswer,
): Promise<FastifyReply> {
  return acceptAndJoin(message, parts, async ({ acceptance, run, joined }) => {
    if (acceptance.status === 'duplicate') reply.header('idempotent-replayed', 'true');
    const accepted = acceptedEvent(acceptance, { message, run });
    await joined.serve(reply, { run, caller, filter, cursor: null, accepted });
    return reply;
  });
}

interface StreamAnswer {
  readonly parts: MessageParts;
  readonly caller: Caller;
  readonly reply: FastifyReply;
  readonly filter: StreamFilterQuery;
}

function acceptedEvent(
  acceptance: Acceptance,
  { message, run }: { readonly message: InboundMessage; readonly run: RunRecord },
): LiveEvent {
  const { runId, eventId, position, sessionKey } = answerOf(acceptance, run);
  const data = { eventId, runId, kind: message.kind, position };
  return { type: 'event.accepted', at: run.createdAt.toISOString(), sessionKey, runIds: [runId], data };
}

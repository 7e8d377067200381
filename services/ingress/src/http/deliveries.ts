import {
  type AccountId,
  AppError,
  type DecidedDelivery,
  type DeliveryControl,
  type DeliveryReads,
  type DeliveryRecord,
  type DeliveryVerb,
  type EventId,
  formatId,
  type Ids,
  type MessageId,
  parseId,
  type TenantId,
} from '@turnkeeper/core';
import {
  type Delivery,
  DeliveryListQuerySchema,
  DeliveryResolveSchema,
  LIST_LIMIT_DEFAULT,
  NoQuerySchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Targets } from '../intake/targets.ts';
import type { DecidedSend } from '../runs/announce-delivery.ts';
import { found, pageAnswer } from './pages.ts';
import { parseBody, parseQuery } from './requests.ts';
import { agentIdOf, filteredSession, type SessionParts } from './sessions.ts';

export interface DeliveryParts extends SessionParts {
  readonly targets: Pick<Targets, 'agent' | 'account'>;
  readonly deliveries: DeliveryReads;
  readonly deliveryControl: DeliveryControl;
  readonly ids: Ids;
  /** Tells those who watch the conversation, and the owner of its lane, which may send now. */
  readonly announceDelivery: (decided: DecidedSend) => void;
}

interface ById {
  Params: { id: string };
}

const Nothing = z.strictObject({});

/** `/v1/deliveries`: what became of each message on its way out, and what a person says where no rule can. */
export function registerDeliveries(app: FastifyInstance, parts: DeliveryParts): void {
  const { access } = parts;
  const reads = { onRequest: access.requires('runs:read') };
  app.get('/v1/deliveries', reads, (request) => listDeliveries(request, parts));
  app.get<ById>('/v1/deliveries/:id', reads, async (request) => {
    parseQuery(NoQuerySchema, request.query);
    return readDelivery(request, parts);
  });
  const writes = { onRequest: access.requires('deliveries:write') };
  app.post<ById>('/v1/deliveries/:id/retry', writes, async (request) => {
    parseQuery(NoQuerySchema, request.query);
    parseBody(Nothing, request.body ?? {});
    return decide(request, 'retry', parts);
  });
  app.post<ById>('/v1/deliveries/:id/resolve', writes, async (request) => {
    parseQuery(NoQuerySchema, request.query);
    return decide(request, parseBody(DeliveryResolveSchema, request.body).outcome, parts);
  });
}

async function listDeliveries(request: FastifyRequest, parts: DeliveryParts) {
  const { tenantId } = parts.access.callerOf(request).tenant;
  const query = parseQuery(DeliveryListQuerySchema, request.query);
  const { limit = LIST_LIMIT_DEFAULT, cursor, status, agentId, accountId, runId } = query;
  const agent = await agentIdOf(tenantId, agentId, parts.targets);
  const session = await filteredSession(tenantId, { ...query, agentId: agent }, parts.sessions);
  const run = runId === undefined ? undefined : parseId<EventId>(runId, 'run', 'evt');
  // what is no id is one that never was
  if (run === null) return pageAnswer({ rows: [], nextCursor: null }, deliveryAnswer);
  const page = await parts.deliveries.list(tenantId, {
    ...{ limit, cursor, status, runId: run, lane: session?.lane },
    agentId: agent,
    accountId: await accountIdOf(tenantId, accountId, parts),
    ...(query.session?.startsWith('ses_') && { sessionId: session?.sessionId ?? undefined }),
  });
  return pageAnswer(page, deliveryAnswer);
}

async function accountIdOf(
  tenantId: TenantId,
  reference: string | undefined,
  { targets }: DeliveryParts,
): Promise<AccountId | undefined> {
  return reference === undefined ? undefined : (await targets.account(tenantId, reference)).accountId;
}

async function readDelivery(request: FastifyRequest<ById>, { access, deliveries }: DeliveryParts): Promise<Delivery> {
  const messageId = parseId<MessageId>(request.params.id, 'dlv', 'msg');
  const { tenantId } = access.callerOf(request).tenant;
  const delivery = messageId === null ? null : await deliveries.get(tenantId, messageId);
  return deliveryAnswer(found(delivery, 'not_found', 'delivery'));
}

async function decide(request: FastifyRequest<ById>, verb: DeliveryVerb, parts: DeliveryParts): Promise<Delivery> {
  const { tenant, key } = parts.access.callerOf(request);
  const messageId = parseId<MessageId>(request.params.id, 'dlv', 'msg');
  if (messageId === null) throw refusedBy('missing');
  const decision = { verb, actor: `key:${key.keyId}`, auditId: parts.ids.next() } as const;
  const decided = await parts.deliveryControl.decide(tenant.tenantId, messageId, decision);
  if (decided.result !== 'done' && decided.result !== 'same') throw refusedBy(decided.result);
  if (decided.result === 'done') parts.announceDelivery({ ...decided, messageId });
  return readDelivery(request, parts);
}

function refusedBy(result: Exclude<DecidedDelivery['result'], 'done' | 'same'>): AppError {
  switch (result) {
    case 'missing':
      return new AppError({ code: 'not_found', message: 'no such delivery' });
    case 'busy':
      return new AppError({
        code: 'lane_busy',
        retryable: true,
        message: 'a delivery of the conversation is being sent at this moment; try again when it is done',
      });
    case 'settled':
      return new AppError({ code: 'cannot_change', message: 'what became of this delivery is known' });
    case 'gone':
      return new AppError({ code: 'gone', message: 'what was to be sent has been deleted' });
  }
}

/** A delivery as callers see it. */
function deliveryAnswer(delivery: DeliveryRecord): Delivery {
  const { messageId, accountId, runId, turnId, heldUntil, dueAt, errorCode, ref, text } = delivery;
  return {
    deliveryId: formatId('dlv', messageId),
    messageId: formatId('msg', messageId),
    sessionKey: delivery.sessionKey,
    sessionId: formatId('ses', delivery.sessionId),
    agentId: formatId('agt', delivery.agentId),
    ...(accountId === null ? {} : { accountId: formatId('acc', accountId) }),
    ...(runId === null ? {} : { runId: formatId('run', runId) }),
    ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }),
    status: delivery.status,
    attempts: delivery.attempts,
    ...(delivery.recovered && { recovered: true }),
    ...(heldUntil === null ? {} : { heldUntil: heldUntil.toISOString() }),
    ...(dueAt === null ? {} : { nextAttemptAt: dueAt.toISOString() }),
    ...(errorCode === null ? {} : { error: { code: errorCode } }),
    platformMessageIds: platformIdsOf(ref),
    ...(text === undefined ? {} : { text }),
    createdAt: delivery.createdAt.toISOString(),
    updatedAt: delivery.updatedAt.toISOString(),
  };
}

/** Words of our own, for how it was proven, are no ids of a platform. */
const PROOFS: ReadonlySet<string> = new Set(['run', 'seen', 'person']);

function platformIdsOf(ref: string | null): string[] {
  return ref === null || PROOFS.has(ref) ? [] : [ref];
}

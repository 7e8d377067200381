import type { OpenAccounts } from '@turnkeeper/channels';
import {
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  AppError,
  type AttachmentRecords,
  type ControlStore,
  formatId,
  type Ids,
  type MessageId,
  type OutboundResult,
  type SessionId,
  type SessionRecord,
} from '@turnkeeper/core';
import { type OutboundAnswer, OutboundRequestSchema, SessionQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { filesOf } from '../intake/message-files.ts';
import type { Targets } from '../intake/targets.ts';
import type { ControlledLane } from '../runs/announce-end.ts';
import type { Access } from './access.ts';
import { IdempotencyKeys } from './idempotency.ts';
import type { RateGate } from './rate-gate.ts';
import { parseBody, parseQuery } from './requests.ts';
import { namedGeneration } from './session-control.ts';
import { type BySession, findSession, type SessionParts } from './sessions.ts';

export interface OutboundParts extends SessionParts {
  readonly access: Access;
  readonly targets: Pick<Targets, 'agent' | 'account'>;
  readonly accounts: Pick<AccountConfigs, 'get'>;
  readonly openAccounts: Pick<OpenAccounts, 'of'>;
  readonly control: Pick<ControlStore, 'sendOutbound' | 'accountOf'>;
  readonly rates: RateGate;
  readonly attachments: Pick<AttachmentRecords, 'find'>;
  readonly ids: Ids;
  readonly announceControl: (controlled: ControlledLane) => void;
}

const PATH = '/v1/sessions/:session/outbound';

/**
 * `POST /v1/sessions/{session}/outbound`: a message without a turn, behind all that the conversation is owed. It counts
 * against the tenant's rate like any message, and a conversation may have as many undelivered as it may have queued.
 */
export function registerOutbound(app: FastifyInstance, parts: OutboundParts): void {
  const keys = new IdempotencyKeys('/v1/sessions/{session}/outbound');
  app.post<BySession>(PATH, { onRequest: parts.access.requires('sessions:write') }, async (request, reply) => {
    const { agentId } = parseQuery(SessionQuerySchema, request.query);
    const {
      text,
      attachments: named,
      author,
      accountId,
      idempotencyKey,
    } = parseBody(OutboundRequestSchema, request.body);
    const caller = parts.access.callerOf(request);
    await parts.rates.take(caller.tenant, reply);
    const session = await findSession(request, agentId, parts);
    const messageId = parts.ids.next() as MessageId;
    const refs = (named ?? []).map(({ ref }) => ref);
    const { attachments, uses } = await filesOf(caller, refs, parts);
    const keyed = { session: request.params.session, text, attachments: named, author, accountId, idempotencyKey };
    const result = await parts.control.sendOutbound({
      ...{ lane: session.lane, sessionId: namedGeneration(request, session) },
      ...{ messageId, newSessionId: parts.ids.next() as SessionId, author },
      body: { text, ...(attachments.length > 0 && { attachments }) },
      uses,
      accountId: await wayOut(session, accountId, parts),
      dedupe: keys.of(request, keyed, caller.key) ?? keys.once(messageId, caller.key),
      undeliveredMax: caller.tenant.limits.queuedPerLane,
    });
    return answer(session, result, { reply, parts });
  });
}

/** The account that the message leaves by; null when nothing can be sent, as for replies of turns. */
async function wayOut(
  session: SessionRecord,
  named: string | undefined,
  parts: OutboundParts,
): Promise<AccountId | null> {
  const account = await accountFor(session, named, parts);
  if (account === null) return null;
  const { egress } = await parts.openAccounts.of(account);
  return egress === null ? null : account.accountId;
}

async function accountFor(
  { agentId, lane }: SessionRecord,
  named: string | undefined,
  { accounts, control, targets }: OutboundParts,
): Promise<AccountConfig | null> {
  if (named === undefined) {
    const last = await control.accountOf(lane);
    return last === null ? null : accounts.get(lane.tenantId, last);
  }
  const account = await targets.account(lane.tenantId, named);
  if (account.agentId === agentId) return account;
  throw new AppError({
    code: 'agent_mismatch',
    message: 'the account belongs to another agent than the conversation',
    fields: [{ pointer: '/accountId', code: 'agent_mismatch' }],
  });
}

function answer(
  { lane, sessionKey }: SessionRecord,
  result: OutboundResult,
  { reply, parts }: { readonly reply: FastifyReply; readonly parts: OutboundParts },
): OutboundAnswer {
  if (result.result !== 'sent' && result.result !== 'duplicate') throw refusedBy(result.result);
  const { messageId, seq, sessionId, isOwed } = result;
  if (result.result === 'sent') {
    parts.announceControl({ lane, sessionKey, sessionId, seq, turnId: null, ended: [] });
  } else reply.header('idempotent-replayed', 'true');
  reply.code(202);
  return {
    messageId: formatId('msg', messageId),
    deliveryId: formatId('dlv', messageId),
    sessionKey,
    sessionId: formatId('ses', sessionId),
    seq: Number(seq),
    status: result.result === 'sent' ? 'accepted' : 'duplicate',
    deliveryStatus: isOwed ? 'pending' : 'delivered',
  };
}

function refusedBy(result: Exclude<OutboundResult['result'], 'sent' | 'duplicate'>): AppError {
  switch (result) {
    case 'mismatch':
      return new AppError({
        code: 'idempotency_mismatch',
        message: 'the idempotency key was used before with another body',
      });
    case 'gone':
      return new AppError({ code: 'gone', message: 'this was sent before and has been deleted since' });
    case 'past':
      return new AppError({ code: 'cannot_change', message: 'this session is over; name the conversation by its key' });
    case 'full':
      return new AppError({
        code: 'lane_full',
        retryable: true,
        message: 'too many messages of this conversation are undelivered; wait until its receiver takes them',
      });
    case 'missing':
      return new AppError({ code: 'session_not_found', message: 'no such session' });
  }
}

import {
  AppError,
  type ControlRequest,
  type ControlResult,
  type ControlSignals,
  type ControlStore,
  formatId,
  type Ids,
  mayArchive,
  type SessionId,
  type SessionRecord,
} from '@turnkeeper/core';
import {
  type Session,
  type SessionControl,
  SessionPatchSchema,
  SessionQuerySchema,
  SessionResetSchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ControlledLane } from '../runs/announce-end.ts';
import { ownWorkIn, roomWith } from '../visitors/visitor.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { parseBody, parseQuery } from './requests.ts';
import { type BySession, findSession, type SessionParts, sessionAnswer } from './sessions.ts';
import { refuseVersions } from './versions.ts';

export interface SessionControlParts extends SessionParts {
  readonly control: Pick<ControlStore, 'control'>;
  readonly signals: Pick<ControlSignals, 'stopTurn'>;
  readonly ids: Ids;
  /** Tells a lane's owner, and those who watch it, what a command did. */
  readonly announceControl: (controlled: ControlledLane) => void;
}

const COMMANDS = ['stop', 'pause', 'unpause', 'suspend', 'resume', 'archive'] as const;
const Nothing = z.strictObject({});

/**
 * Commands to conversations, from any node: each is one transaction under the lane's lock, and only then is the worker told
 * whose turn it ended. A worker that is not told finds out by its poll within a second or two; what it writes meanwhile is
 * refused.
 */
export function registerSessionControl(app: FastifyInstance, parts: SessionControlParts): void {
  const guard = { onRequest: parts.access.requires('sessions:write') };
  // visitors may stop their own turns
  const stopGuard = { onRequest: parts.access.admits('sessions:write') };
  for (const command of COMMANDS) {
    app.post<BySession>(`/v1/sessions/:session/${command}`, command === 'stop' ? stopGuard : guard, (request) => {
      parseBody(Nothing, request.body ?? {});
      return obey(request, { command }, parts);
    });
  }
  const keys = new IdempotencyKeys('/v1/sessions/{session}/reset');
  app.post<BySession>('/v1/sessions/:session/reset', guard, (request) => {
    const body = parseBody(SessionResetSchema, request.body ?? {});
    const keyed = { ...body, session: request.params.session };
    const dedupe = keys.of(request, keyed, parts.access.callerOf(request).key);
    return obey(request, { command: 'reset', dedupe }, parts);
  });
  app.patch<BySession>('/v1/sessions/:session', guard, (request) => {
    refuseVersions(request);
    return obey(request, { command: parseBody(SessionPatchSchema, request.body) }, parts);
  });
  app.delete<BySession>('/v1/sessions/:session', guard, async (request, reply) => {
    refuseVersions(request);
    parseBody(Nothing, request.body ?? {});
    await obey(request, { command: 'erase' }, parts);
    return reply.code(204).send();
  });
}

interface Command {
  readonly command: ControlRequest['command'];
  readonly dedupe?: ControlRequest['dedupe'];
}

async function obey(
  request: FastifyRequest<BySession>,
  { command, dedupe = null }: Command,
  parts: SessionControlParts,
): Promise<SessionControl> {
  const { agentId } = parseQuery(SessionQuerySchema, request.query);
  const session = await findSession(request, agentId, parts);
  if (session.kind === 'main' && (command === 'archive' || command === 'erase')) throw refusal('main_session');
  const { lane, sessionKey } = session;
  const sessionId = namedGeneration(request, session);
  if (command === 'archive' && sessionId === null && !mayArchive(session.status)) return sessionAnswer(session);
  const principal = parts.access.principalOf(request);
  const own = principal.kind === 'visitor' ? ownWorkIn(principal, roomWith(principal, sessionKey)) : {};
  const asked = { lane, command, sessionId, dedupe, ...own };
  const result = await parts.control.control({ ...asked, newSessionId: parts.ids.next() as SessionId });
  if (result.result === 'done') {
    if (result.turnId !== null) parts.signals.stopTurn(lane.tenantId, result.turnId);
    parts.announceControl({ ...result, lane, sessionKey });
    return controlAnswer(await sessionNow(session, parts), result);
  }
  if (result.result === 'same' || result.result === 'duplicate') return sessionNow(session, parts);
  throw refusedBy(result.result);
}

/** Who names one generation means no other; who names a key means whatever session it has. */
export function namedGeneration(request: FastifyRequest<BySession>, session: SessionRecord): SessionId | null {
  return request.params.session.startsWith('ses_') ? session.sessionId : null;
}

/** As it is after the command: the rows are read again, because they may say more than this call did. */
async function sessionNow(before: SessionRecord, { sessions }: SessionControlParts): Promise<Session> {
  const { agentId, lane, sessionKey } = before;
  const found = await sessions.find(lane.tenantId, { by: 'key', sessionKey, agentId });
  // deleted by this very command, or since
  return sessionAnswer(typeof found === 'string' ? before : found);
}

function controlAnswer(session: Session, { turnId, ended }: Extract<ControlResult, { readonly result: 'done' }>) {
  if (turnId === null && ended.length === 0) return session;
  const runIds = ended.map((eventId) => formatId('run', eventId));
  return { ...session, stopped: { ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }), runIds } };
}

type Refusal = Exclude<ControlResult['result'], 'done' | 'same' | 'duplicate'>;

function refusedBy(result: Refusal): AppError {
  if (result === 'missing') return refusal('session_not_found');
  if (result === 'mismatch') return refusal('idempotency_mismatch');
  if (result === 'past' || result === 'no_session') return refusal('cannot_change');
  return refusal(result);
}

const SENTENCES = {
  session_not_found: 'no such session',
  idempotency_mismatch: 'the idempotency key was used before with another body',
  cannot_change: 'this session is over, or has not begun; name the conversation by its key',
  main_session: 'the main conversation is never archived or deleted; reset it',
  lane_busy: 'the conversation has a turn, a message or a delivery under way; stop it or wait',
  nothing_to_stop: 'nothing that you may stop runs or waits; a reply that was stored before is still sent',
  label_in_use: 'another conversation of this agent has this label',
} as const;

function refusal(code: keyof typeof SENTENCES): AppError {
  return new AppError({ code, message: SENTENCES[code] });
}

import {
  type AgentId,
  AppError,
  formatId,
  type HistoryEntry,
  type InputId,
  messageParts,
  parseId,
  type SessionId,
  type SessionReads,
  type SessionRecord,
  type SessionSelector,
  type TenantId,
} from '@turnkeeper/core';
import {
  HISTORY_LIMIT_DEFAULT,
  type HistoryMessage,
  HistoryQuerySchema,
  LIST_LIMIT_DEFAULT,
  type Session,
  SessionKeySchema,
  SessionListQuerySchema,
  SessionQuerySchema,
  sessionSelector,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Targets } from '../intake/targets.ts';
import { maySee } from '../visitors/visitor.ts';
import type { Access } from './access.ts';
import { pageAnswer } from './pages.ts';
import { parseQuery } from './requests.ts';

export interface SessionParts {
  readonly access: Pick<Access, 'requires' | 'callerOf' | 'admits' | 'principalOf'>;
  readonly targets: Pick<Targets, 'agent'>;
  readonly sessions: SessionReads;
}

export interface BySession {
  Params: { session: string };
}

/** `/v1/sessions`: conversations and what was said in them. */
export function registerSessions(app: FastifyInstance, parts: SessionParts): void {
  const { access } = parts;
  const guard = { onRequest: access.requires('sessions:read') };
  app.get('/v1/sessions', guard, (request) => listSessions(request, parts));
  app.get<BySession>('/v1/sessions/:session', guard, async (request) => {
    const { agentId } = parseQuery(SessionQuerySchema, request.query);
    return sessionAnswer(await findSession(request, agentId, parts));
  });
  const route = { onRequest: access.admits('sessions:read') };
  app.get<BySession>('/v1/sessions/:session/history', route, (request) => history(request, parts));
}

async function history(request: FastifyRequest<BySession>, parts: SessionParts) {
  const query = parseQuery(HistoryQuerySchema, request.query);
  const { agentId, limit = HISTORY_LIMIT_DEFAULT, includeTools, ...range } = query;
  const principal = parts.access.principalOf(request);
  const session = await findSession(request, agentId, parts);
  // what tools did is not for visitors
  const withTools = includeTools === 'true' && principal.kind === 'key';
  const asked = { limit, includeTools: withTools, ...range };
  return pageAnswer(await parts.sessions.history(principal.tenant.tenantId, session, asked), entryAnswer);
}

async function listSessions(request: FastifyRequest, { access, sessions, targets }: SessionParts) {
  const { tenantId } = access.callerOf(request).tenant;
  const query = parseQuery(SessionListQuerySchema, request.query);
  const { limit = LIST_LIMIT_DEFAULT, agentId, q, messageLimit = 0, ...filter } = query;
  const agent = agentId === undefined ? undefined : (await targets.agent(tenantId, agentId)).agentId;
  const page = await sessions.list(tenantId, { limit, agentId: agent, text: q, ...filter });
  const answer = pageAnswer(page, sessionAnswer);
  if (messageLimit === 0) return answer;
  for (const [i, row] of page.rows.entries()) {
    const { rows } = await sessions.history(tenantId, row, { limit: messageLimit, includeTools: false });
    const session = answer.data[i];
    if (session) session.messages = rows.map(entryAnswer);
  }
  return answer;
}

/** @throws AppError `session_not_found`, `ambiguous`, `malformed_key`, `agent_not_found` */
export async function findSession(
  request: FastifyRequest<BySession>,
  agentReference: string | undefined,
  { access, targets, sessions }: SessionParts,
): Promise<SessionRecord> {
  const principal = access.principalOf(request);
  const { tenantId } = principal.tenant;
  // a visitor's rooms are all its agent's
  const visited = principal.kind === 'visitor' ? principal.agent.agentId : undefined;
  const agentId = visited ?? (await agentIdOf(tenantId, agentReference, targets));
  const session = await namedSession(tenantId, { selector: request.params.session, agentId }, sessions);
  if (principal.kind === 'visitor' && !maySee(principal, session)) throw noSession();
  return session;
}

/**
 * The conversation that a path or a query names, of this agent where one is named.
 * @throws AppError `session_not_found`, `ambiguous`, `malformed_key`
 */
async function namedSession(
  tenantId: TenantId,
  { selector, agentId }: { readonly selector: string; readonly agentId: AgentId | undefined },
  sessions: SessionReads,
): Promise<SessionRecord> {
  const session = await sessions.find(tenantId, selectorOf(selector, agentId));
  if (session === 'ambiguous') {
    throw new AppError({ code: 'ambiguous', message: 'the key exists under several agents; add ?agentId=' });
  }
  if (session === 'missing' || (agentId !== undefined && session.agentId !== agentId)) throw noSession();
  return session;
}

/** The conversation that a list is narrowed to; undefined: none. @throws as `namedSession`, and `multiple_selectors` */
export async function filteredSession(
  tenantId: TenantId,
  named: {
    readonly session?: string | undefined;
    readonly sessionKey?: string | undefined;
    readonly agentId: AgentId | undefined;
  },
  sessions: SessionReads,
): Promise<SessionRecord | undefined> {
  const { session, sessionKey, agentId } = named;
  if (session === undefined && sessionKey === undefined) return undefined;
  if (session !== undefined && sessionKey !== undefined) {
    throw new AppError({
      code: 'multiple_selectors',
      message: 'give either session or sessionKey, not both',
      fields: [{ pointer: '/sessionKey', code: 'multiple_selectors' }],
    });
  }
  const selector = session ?? sessionSelector(sessionKey ?? '');
  return namedSession(tenantId, { selector, agentId }, sessions);
}

function noSession(): AppError {
  return new AppError({ code: 'session_not_found', message: 'no such session' });
}

/** Undefined where none is named. @throws AppError `agent_not_found` */
export async function agentIdOf(
  tenantId: TenantId,
  reference: string | undefined,
  targets: SessionParts['targets'],
): Promise<AgentId | undefined> {
  return reference === undefined ? undefined : (await targets.agent(tenantId, reference)).agentId;
}

/** `ses_…` is one generation; `~` + base64url or the plain text is a key (surface §1). @throws AppError `malformed_key` */
export function selectorOf(text: string, agentId: AgentId | undefined): SessionSelector {
  const sessionId = parseId<SessionId>(text, 'ses');
  if (sessionId !== null) return { by: 'id', sessionId };
  const sessionKey = text.startsWith('~') ? decodeKey(text.slice(1)) : text;
  if (!SessionKeySchema.safeParse(sessionKey).success) throw malformed();
  return { by: 'key', sessionKey, agentId };
}

function decodeKey(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64url');
  const key = bytes.toString('utf8');
  // what does not come back the same was no base64url of UTF-8
  if (bytes.toString('base64url') !== encoded || !bytes.equals(Buffer.from(key))) throw malformed();
  return key;
}

function malformed(): AppError {
  return new AppError({
    code: 'malformed_key',
    message: 'a session is named by ses_…, by ~ and base64url of its key, or by its percent-encoded key',
  });
}

/** A session as callers see it. */
export function sessionAnswer(session: SessionRecord): Session {
  const { sessionId, agentId, sessionKey, kind, channel, source, status, label, paused, suspended } = session;
  return {
    sessionKey,
    sessionId: sessionId && formatId('ses', sessionId),
    agentId: formatId('agt', agentId),
    kind,
    channel,
    chatType: source.chatType,
    status,
    ...(label === null ? {} : { label }),
    displayName: label ?? source.chatName ?? source.userName ?? sessionKey,
    ...(paused && { paused }),
    ...(suspended && { suspended }),
    createdAt: session.createdAt.toISOString(),
    updatedAt: session.updatedAt.toISOString(),
  };
}

function entryAnswer(entry: HistoryEntry): HistoryMessage {
  const { messageId, seq, role, author, turnId } = entry;
  return {
    messageId: formatId('msg', messageId),
    seq,
    role,
    author,
    ...contentOf(entry),
    ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }),
    ...marksOf(entry),
    createdAt: entry.createdAt.toISOString(),
  };
}

/** What tells an entry from the others of its role. */
function marksOf({ role, body }: HistoryEntry): Pick<HistoryMessage, 'cut' | 'inputId'> {
  if (typeof body !== 'object' || body === null) return {};
  if (role === 'assistant') return 'cut' in body && body.cut === true ? { cut: true } : {};
  const isAnswer = role === 'user' && 'inputId' in body && typeof body.inputId === 'string';
  return isAnswer ? { inputId: formatId('inp', body.inputId as InputId) } : {};
}

/** A tool's step is one part as it was stored; anything else is its text and what was attached. */
function contentOf({ role, body }: HistoryEntry): Pick<HistoryMessage, 'text' | 'parts'> {
  if (role === 'tool_call' || role === 'tool_result') return { text: '', parts: [body] };
  const { text, attachments } = textAndAttachments(body);
  return { text, parts: messageParts(text, attachments) };
}

function textAndAttachments(body: unknown): { text: string; attachments: readonly unknown[] } {
  if (typeof body !== 'object' || body === null) return { text: '', attachments: [] };
  const text = 'text' in body && typeof body.text === 'string' ? body.text : '';
  return { text, attachments: 'attachments' in body && Array.isArray(body.attachments) ? body.attachments : [] };
}

import { type AuditRecord, type EndedTurnRecord, formatId } from '@turnkeeper/core';
import { type AuditEntry, type EndedTurn, JournalQuerySchema, LIST_LIMIT_DEFAULT } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pageAnswer } from '../pages.ts';
import { parseQuery } from '../requests.ts';
import { type AdminParts, tenantIdOf } from './admin-parts.ts';

/** `/admin/v1/{turns,audit}`: turns that have ended, and who decided what, the newest first. */
export function registerJournal(app: FastifyInstance, parts: AdminParts): void {
  const filterOf = async (request: FastifyRequest) => {
    const { limit = LIST_LIMIT_DEFAULT, cursor, tenant } = parseQuery(JournalQuerySchema, request.query);
    return { limit, cursor, tenantId: await tenantIdOf(tenant, parts) };
  };
  app.get('/admin/v1/turns', async (request) =>
    pageAnswer(await parts.journal.turns(await filterOf(request)), turnAnswer),
  );
  app.get('/admin/v1/audit', async (request) =>
    pageAnswer(await parts.journal.audit(await filterOf(request)), auditAnswer),
  );
}

function turnAnswer(row: EndedTurnRecord): EndedTurn {
  const { turnId, tenantId, tenantName, sessionKey, status, reason, node, startedAt, endedAt } = row;
  return {
    ...{ turnId: formatId('trn', turnId), tenantId: formatId('ten', tenantId), tenant: tenantName, sessionKey },
    ...(row.sessionId !== null && { sessionId: formatId('ses', row.sessionId) }),
    agentId: formatId('agt', row.agentId),
    ...(row.agentVersion !== null && { agentVersion: row.agentVersion }),
    ...{ status, reason, node },
    ...(row.resumeOf !== null && { resumeOf: formatId('trn', row.resumeOf) }),
    runIds: row.eventIds.map((eventId) => formatId('run', eventId)),
    ...(row.errorCode !== null && { error: { code: row.errorCode } }),
    ...(row.usage !== null && { usage: { ...row.usage } }),
    ...{ startedAt: startedAt.toISOString(), endedAt: endedAt.toISOString() },
  };
}

function auditAnswer({ id, tenantId, tenantName, at, actor, action, subject, detail }: AuditRecord): AuditEntry {
  const place = { id, tenantId: formatId('ten', tenantId), tenant: tenantName, at: at.toISOString() };
  return { ...place, actor, action, subject, detail: { ...detail } };
}

import {
  type AgentId,
  type AuditRecord,
  type BootId,
  decodeCursor,
  type EndedTurnRecord,
  type EventId,
  encodeCursor,
  type JournalFilter,
  type JournalReads,
  type Page,
  type SessionId,
  type TenantId,
  TURN_REASON,
  TURN_STATE,
  type TurnId,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import { selectAudit, selectEndedTurns } from './journal-query.ts';
import { pageOf } from './page.ts';
import { type QueryBuilder, queryBuilder, type RowOf, runQuery } from './queries.ts';
import { nameOf } from './state-names.ts';

/** What has happened, over all tenants, as tk_admin. */
export class JournalStore implements JournalReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async turns(filter: JournalFilter): Promise<Page<EndedTurnRecord>> {
    const rows = await runQuery(this.#database, selectEndedTurns(this.#build, selectionOf('turns', filter)));
    return pageOf(rows.map(turnOf), filter.limit, (last) => encodeCursor('turns', [last.place, last.turnId]));
  }

  async audit(filter: JournalFilter): Promise<Page<AuditRecord>> {
    const rows = await runQuery(this.#database, selectAudit(this.#build, selectionOf('audit', filter)));
    return pageOf(rows.map(auditOf), filter.limit, (last) => encodeCursor('audit', [last.place, last.id]));
  }
}

function selectionOf(list: string, { tenantId, cursor, limit }: JournalFilter) {
  if (cursor === undefined) return { tenantId, behind: undefined, limit: limit + 1 };
  const [time = '', id = ''] = decodeCursor(list, cursor, ['time', 'uuid']);
  return { tenantId, behind: [time, id] as const, limit: limit + 1 };
}

function turnOf(row: RowOf<typeof selectEndedTurns>): EndedTurnRecord & { readonly place: string } {
  return {
    turnId: row.id as TurnId,
    tenantId: row.tenant_id as TenantId,
    tenantName: row.tenant_name,
    sessionKey: row.key,
    sessionId: row.session_id as SessionId | null,
    agentId: row.agent_id as AgentId,
    agentVersion: row.agent_version,
    status: nameOf(TURN_STATE, row.state) ?? 'interrupted',
    reason: nameOf(TURN_REASON, row.reason) ?? 'message',
    resumeOf: row.resume_of as TurnId | null,
    node: row.boot_id as BootId,
    eventIds: row.event_ids as EventId[],
    errorCode: row.error?.code ?? null,
    usage: row.usage,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    place: row.place,
  };
}

function auditOf(row: RowOf<typeof selectAudit>): AuditRecord & { readonly place: string } {
  return {
    id: row.id,
    tenantId: row.tenant_id as TenantId,
    tenantName: row.tenant_name,
    at: row.at,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    detail: row.detail,
    place: row.place,
  };
}

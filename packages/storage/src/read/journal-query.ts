import type { TenantId } from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder } from './queries.ts';

export interface JournalSelection {
  readonly tenantId: TenantId | undefined;
  /** Only what stands behind this place: a time to the microsecond, and an id. */
  readonly behind: readonly [time: string, id: string] | undefined;
  readonly limit: number;
}

/** To the microsecond: a cursor that was cut to milliseconds would skip rows. */
const ENDED = sql<string>`to_char(v.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const NOTED = sql<string>`to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Turns that have ended, the newest first: of each tenant as many as are asked for, by its index, then the newest of those. */
export function selectEndedTurns(build: QueryBuilder, { tenantId, behind, limit }: JournalSelection) {
  return build
    .selectFrom('tk.tenants as t')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('tk.turns as n')
          .selectAll('n')
          .whereRef('n.tenant_id', '=', 't.id')
          .$if(behind !== undefined, (q) =>
            q.where(sql<boolean>`(n.ended_at, n.id) < (${behind?.[0]}::timestamptz, ${behind?.[1]}::uuid)`),
          )
          .orderBy('n.ended_at', 'desc')
          .orderBy('n.id', 'desc')
          .limit(limit)
          .as('v'),
      (join) => join.onTrue(),
    )
    .innerJoin('tk.lanes as l', (join) =>
      join.onRef('l.slot', '=', 'v.slot').onRef('l.tenant_id', '=', 'v.tenant_id').onRef('l.id', '=', 'v.lane_id'),
    )
    .$if(tenantId !== undefined, (q) => q.where('t.id', '=', tenantId ?? ''))
    .select(['v.id', 'v.tenant_id', 't.name as tenant_name', 'l.key', 'v.session_id', 'v.agent_id', 'v.agent_version'])
    .select(['v.state', 'v.reason', 'v.resume_of', 'v.boot_id', 'v.event_ids', 'v.error', 'v.usage'])
    .select(['v.started_at', 'v.ended_at', ENDED.as('place')])
    .orderBy('v.ended_at', 'desc')
    .orderBy('v.id', 'desc')
    .limit(limit);
}

/** The audit trail, the newest first, in the same way. */
export function selectAudit(build: QueryBuilder, { tenantId, behind, limit }: JournalSelection) {
  return build
    .selectFrom('tk.tenants as t')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('tk.audit as n')
          .selectAll('n')
          .whereRef('n.tenant_id', '=', 't.id')
          .$if(behind !== undefined, (q) =>
            q.where(sql<boolean>`(n.at, n.id) < (${behind?.[0]}::timestamptz, ${behind?.[1]}::uuid)`),
          )
          .orderBy('n.at', 'desc')
          .orderBy('n.id', 'desc')
          .limit(limit)
          .as('v'),
      (join) => join.onTrue(),
    )
    .$if(tenantId !== undefined, (q) => q.where('t.id', '=', tenantId ?? ''))
    .select(['v.id', 'v.tenant_id', 't.name as tenant_name', 'v.at', 'v.actor', 'v.action', 'v.subject', 'v.detail'])
    .select(NOTED.as('place'))
    .orderBy('v.at', 'desc')
    .orderBy('v.id', 'desc')
    .limit(limit);
}

import type {
  AgentId,
  LaneId,
  SessionFilter,
  SessionId,
  SessionRecord,
  SessionSelector,
  Source,
  TenantId,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { QueryBuilder, RowOf } from './queries.ts';

/** What the key says behind the agent; a person's lane has no word of its own and is told by the kind of its chat. */
const REST = sql<string>`regexp_replace(l.key, '^agent:[^:]+:', '')`;
const KIND = sql<SessionRecord['kind']>`case
  when ${REST} = 'main' then 'main'
  when ${REST} like 'cron:%' then 'cron'
  when ${REST} like 'hook:%' then 'hook'
  when ${REST} like 'node-%' or ${REST} like 'node:%' then 'node'
  when coalesce(l.source ->> 'chatType', 'dm') <> 'dm' or ${REST} like '%:group:%' or ${REST} like '%:channel:%' then 'group'
  else 'other' end`;
const CHANNEL = sql<string>`case when ${KIND} in ('cron', 'hook', 'node') then 'internal' else coalesce(l.source ->> 'platform', 'unknown') end`;
/** To the microsecond: a cursor that was cut to milliseconds would skip rows. */
const CREATED = sql<string>`to_char(l.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * Lanes with the agent's name and one session: the current one, or the one of this id. Both by their whole keys and with
 * a limit of one: see `laneOfEvent`.
 */
function selectSessions(build: QueryBuilder, which: 'current' | SessionId = 'current') {
  return build
    .selectFrom('tk.lanes as l')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('tk.agents as g')
          .select('g.name')
          .whereRef('g.tenant_id', '=', 'l.tenant_id')
          .whereRef('g.id', '=', 'l.agent_id')
          .limit(1)
          .as('a'),
      (join) => join.onTrue(),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('tk.sessions as x')
          .select(['x.id', 'x.status', 'x.created_at', 'x.ended_at'])
          .whereRef('x.slot', '=', 'l.slot')
          .whereRef('x.tenant_id', '=', 'l.tenant_id')
          .whereRef('x.lane_id', '=', 'l.id')
          .where((of) => of('x.id', '=', which === 'current' ? of.ref('l.session_id') : of.val(which)))
          .limit(1)
          .as('s'),
      (join) => join.onTrue(),
    )
    .select([
      'l.slot',
      'l.tenant_id',
      'l.id as lane_id',
      'l.key',
      'l.agent_id',
      'a.name as agent_name',
      'l.source',
      'l.label',
      'l.session_id as current_id',
      'l.created_at as lane_created_at',
      'l.last_activity_at',
      's.id as session_id',
      's.status',
      's.created_at as session_created_at',
      's.ended_at',
      'l.paused',
      'l.suspended',
      KIND.as('kind'),
      CHANNEL.as('channel'),
      CREATED.as('created_text'),
    ])
    .where(IS_THERE);
}

/**
 * What its owner deleted is found again when somebody writes to it. A scalar query with a limit and not `exists`, which the
 * planner may turn into a table of every open event there is.
 */
const IS_THERE = sql<SqlBool>`(not l.erased or l.session_id is not null or coalesce((
  select true from tk.events y where y.slot = l.slot and y.tenant_id = l.tenant_id and y.lane_id = l.id and y.state < 10 limit 1), false))`;

type SessionRow = RowOf<typeof selectSessions>;

export function sessionOf(row: SessionRow): SessionRecord {
  const isPast = row.session_id !== null && row.session_id !== row.current_id;
  const createdAt = row.session_created_at ?? row.lane_created_at;
  const updatedAt = isPast ? (row.ended_at ?? row.lane_created_at) : row.last_activity_at;
  return {
    lane: { slot: row.slot, tenantId: row.tenant_id as TenantId, laneId: row.lane_id as LaneId },
    sessionKey: row.key,
    agentId: row.agent_id as AgentId,
    agentName: row.agent_name,
    sessionId: row.session_id as SessionId | null,
    kind: row.kind,
    channel: row.channel,
    source: row.source as Source,
    status: row.status ?? 'active',
    label: row.label,
    paused: row.paused,
    // an archived session is followed by a fresh one of itself, not because somebody asked for it
    suspended: row.suspended && row.status !== 'archived',
    createdAt,
    // a fresh session begins behind the last that was said in the one before
    updatedAt: new Date(Math.max(updatedAt.getTime(), createdAt.getTime())),
  };
}

/** One generation, whichever lane it belongs to: the search begins with it. */
export function selectById(build: QueryBuilder, tenantId: TenantId, sessionId: SessionId) {
  const lanes = build
    .selectFrom('tk.sessions as k')
    .select(['k.slot', 'k.lane_id'])
    .where('k.tenant_id', '=', tenantId)
    .where('k.id', '=', sessionId);
  return selectSessions(build, sessionId)
    .where('l.tenant_id', '=', tenantId)
    .where((of) => of(of.refTuple('l.slot', 'l.id'), 'in', lanes.$asTuple('slot', 'lane_id')));
}

export function selectByKey(
  build: QueryBuilder,
  tenantId: TenantId,
  selector: Extract<SessionSelector, { by: 'key' }>,
) {
  return selectSessions(build)
    .where('l.tenant_id', '=', tenantId)
    .where('l.key', '=', selector.sessionKey)
    .$if(selector.agentId !== undefined, (q) => q.where('l.agent_id', '=', selector.agentId ?? ''));
}

/** Newest conversation first: by creation, which never moves, so that no page is torn by activity. */
export function selectFiltered(build: QueryBuilder, tenantId: TenantId, filter: SessionFilter) {
  const { agentId, kinds, channel, user, status, activeMinutes, text } = filter;
  return selectSessions(build)
    .where('l.tenant_id', '=', tenantId)
    .$if(agentId !== undefined, (q) => q.where('l.agent_id', '=', agentId ?? ''))
    .$if(kinds !== undefined, (q) => q.where(KIND, 'in', kinds ?? []))
    .$if(channel !== undefined, (q) => q.where(CHANNEL, '=', channel ?? ''))
    .$if(user !== undefined, (q) => q.where(sql<SqlBool>`${user} in (l.source ->> 'userId', l.source ->> 'userIdAlt')`))
    .$if(status !== undefined, (q) => q.where(sql<SqlBool>`coalesce(s.status, 'active') = ${status}`))
    .$if(activeMinutes !== undefined, (q) =>
      q.where(sql<SqlBool>`l.last_activity_at >= now() - make_interval(mins => ${activeMinutes})`),
    )
    .$if(text !== undefined, (q) => q.where(contains(text ?? '')))
    .orderBy('l.created_at', 'desc')
    .orderBy('l.id', 'desc');
}

/** `strpos`, not `like`: what people type is text, not a pattern. */
function contains(text: string) {
  return sql<SqlBool>`strpos(lower(concat_ws(' ', l.key, l.label, l.source ->> 'chatName', l.source ->> 'userName')), lower(${text}::text)) > 0`;
}

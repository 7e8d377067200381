import {
  AppError,
  EVENT_STATE,
  type EventId,
  type InputId,
  type LaneId,
  type MessageId,
  type RunRecord,
  type RunStatus,
  type SessionId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { QueryBuilder, RowOf } from './queries.ts';
import { nameOf } from './state-names.ts';
import type { Tables } from './tables.ts';

export type EventTables = Tables & { e: Tables['tk.events'] };

/** "Running" is derived: the lane has a turn and the event is one of its. `resuming` shows as running, too. */
export const isRunning = sql<boolean>`(e.state in (0, 1) and l.turn_id is not null and e.ord = any (l.turn_ords))`;

/**
 * The lane of an event. Its key is known whole, and a limit of one lets no planner think otherwise: a plain join is
 * guessed to find next to nothing, and then every lane of the tenant is read and sorted for one page.
 */
export function laneOfEvent(from: ExpressionBuilder<EventTables, 'e'>) {
  return from
    .selectFrom('tk.lanes as z')
    .select(['z.key', 'z.agent_id', 'z.turn_id', 'z.turn_ords', 'z.session_id', 'z.boot_id', 'z.seq'])
    .select(['z.waits_for', 'z.turn_seq', 'z.turn_started_at', 'z.turn_reason'])
    .whereRef('z.slot', '=', 'e.slot')
    .whereRef('z.tenant_id', '=', 'e.tenant_id')
    .whereRef('z.id', '=', 'e.lane_id')
    .limit(1);
}

/** What the turn that settled it said last. */
function replyOfEvent(from: ExpressionBuilder<EventTables, 'e'>) {
  return from
    .selectFrom('tk.messages as m')
    .select(['m.id', 'm.seq', 'm.body'])
    .whereRef('m.slot', '=', 'e.slot')
    .whereRef('m.tenant_id', '=', 'e.tenant_id')
    .whereRef('m.lane_id', '=', 'e.lane_id')
    .whereRef('m.seq', '>', 'e.seq')
    .whereRef('m.seq', '<=', 'e.end_seq')
    .whereRef('m.turn_id', '=', 'e.turn_id')
    .where('m.role', '=', 'assistant')
    .orderBy('m.seq', 'desc')
    .orderBy('m.n', 'desc')
    .limit(1);
}

/** What it waits for. Only a waiting run has a key to look up here. */
function questionOfEvent(
  from: ExpressionBuilder<EventTables & { l: Pick<Tables['tk.lanes'], 'waits_for'> }, 'e' | 'l'>,
) {
  return from
    .selectFrom('tk.inputs as i')
    .select(['i.kind', 'i.prompt', 'i.expires_at'])
    .whereRef('i.slot', '=', 'e.slot')
    .whereRef('i.tenant_id', '=', 'e.tenant_id')
    .where(sql<SqlBool>`i.id = case when e.state = ${sql.lit(EVENT_STATE.waiting)} then l.waits_for end`)
    .limit(1);
}

/** Events with their lanes, where a turn settled them its reply, and where they wait for a person the question. */
export function selectRuns(build: QueryBuilder) {
  return build
    .selectFrom('tk.events as e')
    .innerJoinLateral(
      (from) => laneOfEvent(from).as('l'),
      (join) => join.onTrue(),
    )
    .leftJoinLateral(
      (from) => replyOfEvent(from).as('r'),
      (join) => join.onTrue(),
    )
    .leftJoinLateral(
      (from) => questionOfEvent(from).as('q'),
      (join) => join.onTrue(),
    )
    .select([
      'e.id',
      'e.slot',
      'e.tenant_id',
      'e.lane_id',
      'l.key',
      'e.state',
      'e.attempts',
      'e.turn_id',
      'e.session_id',
      'e.error',
      'e.accepted_at',
      'e.started_at',
      'e.settled_at',
      'l.turn_id as lane_turn_id',
      'l.session_id as lane_session_id',
      'l.turn_started_at',
      'l.waits_for',
      isRunning.as('is_running'),
      'r.id as reply_id',
      'r.seq as reply_seq',
      'r.body as reply_body',
      'q.kind as question_kind',
      'q.prompt as question',
      'q.expires_at as question_expires_at',
    ]);
}

type RunRow = RowOf<typeof selectRuns>;

export function runOf(row: RunRow): RunRecord {
  const { is_running: runs } = row;
  const reply = row.reply_id === null || row.reply_body === null ? null : { id: row.reply_id, body: row.reply_body };
  return {
    runId: row.id as EventId,
    tenantId: row.tenant_id as TenantId,
    lane: { slot: row.slot, tenantId: row.tenant_id as TenantId, laneId: row.lane_id as LaneId },
    sessionKey: row.key,
    sessionId: (runs ? row.lane_session_id : row.session_id) as SessionId | null,
    turnId: (runs ? row.lane_turn_id : row.turn_id) as TurnId | null,
    ...questionOf(row),
    status: runStatusOf(row.state, runs),
    attempts: row.attempts + (runs ? 1 : 0),
    reply: reply && {
      messageId: reply.id as MessageId,
      seq: row.reply_seq ?? '0',
      text: reply.body.text ?? '',
      ...(reply.body.attachments && { attachments: reply.body.attachments }),
    },
    errorCode: row.error?.code ?? null,
    createdAt: row.accepted_at,
    startedAt: row.started_at ?? (runs ? row.turn_started_at : null),
    finishedAt: row.settled_at,
  };
}

/** What a waiting run waits for. */
function questionOf(row: RunRow): Pick<RunRecord, 'inputId' | 'question'> {
  if (row.state !== EVENT_STATE.waiting || row.waits_for === null) return {};
  const inputId = row.waits_for as InputId;
  const { question_kind: kind, question: asked, question_expires_at: expiresAt } = row;
  if (kind === null || asked === null || expiresAt === null) return { inputId };
  return { inputId, question: { kind, text: asked.text ?? '', options: asked.options, expiresAt } };
}

/** A run's status from its row's number. */
export function runStatusOf(state: number, runs: boolean): RunStatus {
  if (runs || state === EVENT_STATE.resuming) return 'running';
  const name = nameOf(EVENT_STATE, state);
  if (name === null || name === 'resuming')
    throw new AppError({ code: 'internal', message: `unknown event state ${state}` });
  return name;
}

/** The rows whose run has this status. */
export function hasStatus(of: ExpressionBuilder<EventTables, 'e'>, status: RunStatus) {
  if (status === 'running') return of.or([of('e.state', '=', EVENT_STATE.resuming), sql<SqlBool>`${isRunning}`]);
  if (status === 'queued') return of.and([of('e.state', '=', EVENT_STATE.queued), sql<SqlBool>`not ${isRunning}`]);
  return of('e.state', '=', EVENT_STATE[status]);
}

/** The rows of the lanes of this key: few, so the search begins with them. */
export function isOfKey(of: ExpressionBuilder<EventTables, 'e'>, tenantId: TenantId, key: string) {
  const lanes = of
    .selectFrom('tk.lanes as k')
    .select(['k.slot', 'k.id'])
    .where('k.tenant_id', '=', tenantId)
    .where('k.key', '=', key);
  return of(of.refTuple('e.slot', 'e.lane_id'), 'in', lanes.$asTuple('slot', 'id'));
}

import {
  type AccountId,
  type AgentId,
  AppError,
  DELIVERY_STATE,
  type DeliveryFilter,
  type DeliveryRecord,
  type DeliveryStatus,
  type EventId,
  type LaneId,
  type LaneRef,
  type MessageId,
  type SessionId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { QueryBuilder, RowOf } from './queries.ts';
import { nameOf } from './state-names.ts';

/** Rows that one page looks at. */
const WALK_MAX = 5_000;

/** Where a walk goes on: below this message, of the tenant by its id, of a lane by its place there. */
export type DeliveryPlace =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'seq'; readonly seq: string; readonly n: string };

/** The rows of one run within its lane. */
export interface RunRange {
  readonly lane: LaneRef;
  readonly runId: EventId;
  readonly turnId: string | null;
  readonly seq: string | null;
  readonly endSeq: string | null;
}

const COLUMNS = [
  'm.slot',
  'm.tenant_id',
  'm.lane_id',
  'm.seq',
  'm.n',
  'm.id',
  'm.session_id',
  'm.turn_id',
  'm.run_id',
  'm.account_id',
  'm.at',
  'm.dstate',
  'm.dattempt',
  'm.drecovered',
  'm.ddue',
  'm.derror',
  'm.dref',
  'm.dat',
] as const;

/** States that have an index of their own (migration 0120). */
const TROUBLED: readonly DeliveryStatus[] = ['pending', 'failed', 'unknown', 'abandoned'];

/**
 * The newest deliveries of the tenant or of one lane, as many as one page looks at. A state that is rare has its own index;
 * the others are looked for among what is walked over.
 */
function selectWalk(build: QueryBuilder, tenantId: TenantId, { filter, run, place }: DeliveryWalk) {
  const { status } = filter;
  const lane = run?.lane ?? filter.lane;
  const isIndexed = lane === undefined && status !== undefined && TROUBLED.includes(status);
  return build
    .selectFrom('tk.messages as m')
    .select(COLUMNS)
    .where('m.tenant_id', '=', tenantId)
    .where('m.dstate', 'is not', null)
    .$if(isIndexed, (q) => q.where(sql<SqlBool>`m.dstate in (0, 3, 4, 5)`).where('m.dstate', '=', numberOf(status)))
    .$if(lane !== undefined, (q) => q.where('m.slot', '=', lane?.slot ?? 0).where('m.lane_id', '=', lane?.laneId ?? ''))
    .$if(run?.seq != null, (q) => q.where('m.seq', '>=', run?.seq ?? '0'))
    .$if(run?.endSeq != null, (q) => q.where('m.seq', '<=', run?.endSeq ?? '0'))
    .$if(place?.by === 'id', (q) => q.where('m.id', '<', place?.by === 'id' ? place.id : ''))
    .$if(place?.by === 'seq', (q) => q.where(isBelow(place)))
    .$if(lane === undefined, (q) => q.orderBy('m.id', 'desc'))
    .$if(lane !== undefined, (q) => q.orderBy('m.seq', 'desc').orderBy('m.n', 'desc'));
}

export interface DeliveryWalk {
  readonly filter: DeliveryFilter;
  readonly run: RunRange | undefined;
  readonly place: DeliveryPlace | undefined;
}

function isBelow(place: DeliveryPlace | undefined) {
  const { seq, n } = place?.by === 'seq' ? place : { seq: '0', n: '0' };
  // the plain bound is the one that the index can use
  return sql<SqlBool>`m.seq <= ${seq}::bigint and (m.seq < ${seq}::bigint or m.n < ${n}::smallint)`;
}

/** A page, in the order of the walk. */
export function selectDeliveries(build: QueryBuilder, tenantId: TenantId, walk: DeliveryWalk) {
  const { filter, run } = walk;
  const { status, accountId, agentId, sessionId } = filter;
  const isOfLane = (run?.lane ?? filter.lane) !== undefined;
  return build
    .selectFrom(selectWalk(build, tenantId, walk).limit(WALK_MAX).as('m'))
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('tk.lanes as z')
          .select(['z.key', 'z.agent_id'])
          .whereRef('z.slot', '=', 'm.slot')
          .whereRef('z.tenant_id', '=', 'm.tenant_id')
          .whereRef('z.id', '=', 'm.lane_id')
          .limit(1)
          .as('l'),
      (join) => join.onTrue(),
    )
    .select([...COLUMNS, 'l.key', 'l.agent_id'])
    .$if(status !== undefined, (q) => q.where('m.dstate', '=', numberOf(status)))
    .$if(accountId !== undefined, (q) => q.where('m.account_id', '=', accountId ?? ''))
    .$if(agentId !== undefined, (q) => q.where('l.agent_id', '=', agentId ?? ''))
    .$if(sessionId !== undefined, (q) => q.where('m.session_id', '=', sessionId ?? ''))
    .$if(run !== undefined, (q) =>
      q.where((of) => of.or([of('m.run_id', '=', run?.runId ?? ''), of('m.turn_id', '=', run?.turnId ?? null)])),
    )
    .$if(!isOfLane, (q) => q.orderBy('m.id', 'desc'))
    .$if(isOfLane, (q) => q.orderBy('m.seq', 'desc').orderBy('m.n', 'desc'))
    .limit(filter.limit + 1);
}

/** The last row that a page looked at, when there may be more behind it. */
export function selectLastWalked(build: QueryBuilder, tenantId: TenantId, walk: DeliveryWalk) {
  return build
    .selectFrom(selectWalk(build, tenantId, walk).as('m'))
    .select(['m.id', 'm.seq', 'm.n'])
    .offset(WALK_MAX - 1)
    .limit(1);
}

export function selectDelivery(build: QueryBuilder, tenantId: TenantId, messageId: MessageId) {
  return build
    .selectFrom('tk.messages as m')
    .innerJoin('tk.lanes as l', (join) =>
      join.onRef('l.slot', '=', 'm.slot').onRef('l.tenant_id', '=', 'm.tenant_id').onRef('l.id', '=', 'm.lane_id'),
    )
    .select([...COLUMNS, 'm.body', 'l.key', 'l.agent_id'])
    .where('m.tenant_id', '=', tenantId)
    .where('m.id', '=', messageId)
    .where('m.dstate', 'is not', null)
    .limit(1);
}

/** Where the rows of a run are. */
export function selectRunRange(build: QueryBuilder, tenantId: TenantId, runId: EventId) {
  return build
    .selectFrom('tk.events as e')
    .select(['e.slot', 'e.lane_id', 'e.turn_id', 'e.seq', 'e.end_seq'])
    .where('e.tenant_id', '=', tenantId)
    .where('e.id', '=', runId)
    .limit(1);
}

type DeliveryRow = RowOf<typeof selectDeliveries>;

export function deliveryOf(row: DeliveryRow, text?: string): DeliveryRecord {
  const status = nameOf(DELIVERY_STATE, row.dstate ?? -1);
  if (status === null) throw new AppError({ code: 'internal', message: `unknown delivery state ${row.dstate}` });
  return {
    messageId: row.id as MessageId,
    lane: { slot: row.slot, tenantId: row.tenant_id as TenantId, laneId: row.lane_id as LaneId },
    sessionKey: row.key,
    sessionId: row.session_id as SessionId,
    agentId: row.agent_id as AgentId,
    accountId: row.account_id as AccountId | null,
    runId: row.run_id as EventId | null,
    turnId: row.turn_id as TurnId | null,
    status,
    attempts: row.dattempt ?? 0,
    recovered: row.drecovered,
    heldUntil: status === 'unknown' && !row.drecovered ? row.ddue : null,
    dueAt: status === 'pending' ? row.ddue : null,
    errorCode: row.derror?.code ?? null,
    ref: row.dref,
    createdAt: row.at,
    updatedAt: row.dat ?? row.at,
    ...(text !== undefined && { text }),
  };
}

function numberOf(status: DeliveryStatus | undefined): number {
  return DELIVERY_STATE[status ?? 'pending'];
}

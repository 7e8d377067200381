/** What operators look at, over all tenants; on the role `tk_admin`. */
import {
  EVENT_STATE,
  type EventId,
  type LaneId,
  type LaneState,
  type RunStatus,
  type TenantId,
  WORKER_STATE,
  type WorkerRecord,
} from '@turnkeeper/core';
import { type ExpressionBuilder, sql } from 'kysely';
import type { QueryBuilder } from './queries.ts';
import { hasStatus, isRunning, laneOfEvent } from './run-query.ts';
import type { Tables } from './tables.ts';

/** To the microsecond: a cursor that was cut to milliseconds would skip rows. */
const STARTED = sql<string>`to_char(w.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Newest first. */
export function selectWorkers(build: QueryBuilder) {
  return build
    .selectFrom('tk.workers as w')
    .select(['w.boot_id', 'w.kind', 'w.state', 'w.name', 'w.pid', 'w.version', 'w.turn_slots'])
    .select(['w.started_at', 'w.beat_at', 'w.ended_at', STARTED.as('started_text')])
    .select((of) => [
      of
        .selectFrom('tk.partitions as p')
        .select(sql<number[]>`coalesce(array_agg(p.id order by p.id), '{}')`.as('ids'))
        .whereRef('p.owner', '=', 'w.boot_id')
        .as('partitions'),
      of.exists(of.selectFrom('tk.leases as h').select('h.name').whereRef('h.holder', '=', 'w.boot_id')).as('leader'),
    ])
    .orderBy('w.started_at', 'desc')
    .orderBy('w.boot_id', 'desc');
}

export function hasWorkerState(
  of: ExpressionBuilder<Tables & { w: Tables['tk.workers'] }, 'w'>,
  state: WorkerRecord['state'] | 'open',
) {
  const numbers = state === 'open' ? [WORKER_STATE.live, WORKER_STATE.leaving] : [WORKER_STATE[state]];
  return of('w.state', 'in', numbers);
}

export function selectPartitions(build: QueryBuilder) {
  return build
    .selectFrom('tk.partitions as p')
    .leftJoin('tk.workers as w', 'w.boot_id', 'p.owner')
    .select(['p.id', 'p.owner', 'p.epoch', 'p.changed_at', 'w.state as owner_state'])
    .orderBy('p.id');
}

export interface LaneSelection {
  readonly tenantId?: TenantId | undefined;
  readonly state?: LaneState | undefined;
  /** Only this one. */
  readonly laneId?: LaneId | undefined;
  /** Only lanes behind this place in the order of their primary key. */
  readonly after?: { readonly slot: string; readonly tenantId: string; readonly laneId: string } | undefined;
  readonly limit: number;
}

/** By primary key. The page is cut before anything is joined to it: see `laneOfEvent`. */
export function selectLanes(build: QueryBuilder, { tenantId, state, laneId, after, limit }: LaneSelection) {
  const page = build
    .selectFrom('tk.lanes as l')
    .selectAll('l')
    .$if(tenantId !== undefined, (q) => q.where('l.tenant_id', '=', tenantId ?? ''))
    .$if(laneId !== undefined, (q) => q.where('l.id', '=', laneId ?? ''))
    .$if(state !== undefined, (q) => q.where((of) => hasLaneState(of, state ?? 'running')))
    .where((of) => (after === undefined ? of.lit(true) : isBehind(after)))
    .orderBy('l.slot')
    .orderBy('l.tenant_id')
    .orderBy('l.id')
    .limit(limit);
  return build
    .selectFrom(page.as('l'))
    .innerJoin('tk.tenants as t', 't.id', 'l.tenant_id')
    .innerJoin('tk.agents as a', (join) =>
      join.onRef('a.tenant_id', '=', 'l.tenant_id').onRef('a.id', '=', 'l.agent_id'),
    )
    .innerJoin('tk.slots as x', 'x.slot', 'l.slot')
    .select(['l.slot', 'l.tenant_id', 'l.id', 't.name as tenant_name', 'l.agent_id', 'a.name as agent_name', 'l.key'])
    .select(['x.partition_id', 'l.session_id', 'l.fence', 'l.seq', 'l.turn_id', 'l.boot_id', 'l.resumes'])
    .select(['l.suspended', 'l.paused', 'l.last_activity_at'])
    .select((of) => unfinished(of).select(sql<number>`count(*)::int`.as('n')).as('queued'))
    .orderBy('l.slot')
    .orderBy('l.tenant_id')
    .orderBy('l.id');
}

type OfLane = ExpressionBuilder<Tables & { l: Tables['tk.lanes'] }, 'l'>;

function unfinished(of: OfLane) {
  return of
    .selectFrom('tk.events as e')
    .whereRef('e.slot', '=', 'l.slot')
    .whereRef('e.tenant_id', '=', 'l.tenant_id')
    .whereRef('e.lane_id', '=', 'l.id')
    .where('e.state', '<', EVENT_STATE.ok);
}

function hasLaneState(of: OfLane, state: LaneState) {
  switch (state) {
    case 'running':
      return of('l.turn_id', 'is not', null);
    case 'queued':
      return of.and([of('l.turn_id', 'is', null), of.exists(unfinished(of).select('e.id'))]);
    case 'resuming':
      return of('l.resume_of', 'is not', null);
    case 'suspended':
      return of('l.suspended', '=', true);
    case 'paused':
      return of('l.paused', '=', true);
  }
}

export interface EventSelection {
  readonly tenantId?: TenantId | undefined;
  readonly status?: RunStatus | undefined;
  /** Only this one. */
  readonly eventId?: EventId | undefined;
  /** Only ids below this one. */
  readonly below?: string | undefined;
  readonly limit: number;
}

/**
 * Newest first: of each tenant as many as are asked for, by the index that leads with the tenant, then the newest of
 * those. Only what a status needs of the lane is looked up for every candidate.
 */
export function selectEvents(build: QueryBuilder, { tenantId, status, eventId, below, limit }: EventSelection) {
  const page = build
    .selectFrom('tk.tenants as t')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('tk.events as e')
          .selectAll('e')
          .whereRef('e.tenant_id', '=', 't.id')
          .$if(eventId !== undefined, (q) => q.where('e.id', '=', eventId ?? ''))
          .$if(below !== undefined, (q) => q.where('e.id', '<', below ?? ''))
          .$if(status !== undefined, (q) =>
            q
              .innerJoinLateral(
                (lane) => laneOfEvent(lane).as('l'),
                (join) => join.onTrue(),
              )
              .where((of) => hasStatus(of, status ?? 'queued')),
          )
          .orderBy('e.id', 'desc')
          .limit(limit)
          .as('v'),
      (join) => join.onTrue(),
    )
    .selectAll('v')
    .select('t.name as tenant_name')
    .$if(tenantId !== undefined, (q) => q.where('t.id', '=', tenantId ?? ''))
    .orderBy('v.id', 'desc')
    .limit(limit);
  return build
    .selectFrom(page.as('e'))
    .innerJoinLateral(
      (from) => laneOfEvent(from).as('l'),
      (join) => join.onTrue(),
    )
    .select(['e.id', 'e.tenant_id', 'e.tenant_name', 'l.key', 'e.kind', 'e.state', 'e.attempts'])
    .select(['e.accepted_at', 'e.accepted_by', 'e.settled_at', isRunning.as('is_running')])
    .select(sql<Date | null>`case when ${isRunning} then l.turn_started_at else e.started_at end`.as('started_at'))
    .orderBy('e.id', 'desc');
}

function isBehind({ slot, tenantId, laneId }: NonNullable<LaneSelection['after']>) {
  return sql<boolean>`(l.slot, l.tenant_id, l.id) > (${slot}::smallint, ${tenantId}::uuid, ${laneId}::uuid)`;
}

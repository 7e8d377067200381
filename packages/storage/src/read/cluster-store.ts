import {
  type AgentId,
  type BootId,
  type ClusterReads,
  decodeCursor,
  EVENT_KIND,
  type EventId,
  type EventRecord,
  encodeCursor,
  type LaneId,
  type LaneRecord,
  type LaneState,
  type Page,
  type PageRequest,
  type PartitionRecord,
  type RunStatus,
  type SessionId,
  type TenantId,
  type TurnId,
  WORKER_STATE,
  type WorkerRecord,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { hasWorkerState, selectEvents, selectLanes, selectPartitions, selectWorkers } from './cluster-query.ts';
import { pageOf } from './page.ts';
import { type QueryBuilder, queryBuilder, type RowOf, runQuery } from './queries.ts';
import { runStatusOf } from './run-query.ts';
import { nameOf } from './state-names.ts';

/** Lists for operators, on the role `tk_admin`: every tenant's rows. */
export class ClusterStore implements ClusterReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async workers(
    filter: PageRequest & { readonly kind?: WorkerRecord['kind'] | undefined; readonly state?: WorkerFilterState },
  ): Promise<Page<WorkerRecord>> {
    const { kind, state, limit } = filter;
    const [time, id] = filter.cursor === undefined ? [] : decodeCursor('workers', filter.cursor, ['time', 'uuid']);
    const query = selectWorkers(this.#build)
      .$if(kind !== undefined, (q) => q.where('w.kind', '=', kind ?? 'ingress'))
      .$if(state !== undefined, (q) => q.where((of) => hasWorkerState(of, state ?? 'open')))
      .$if(time !== undefined, (q) =>
        q.where(sql<SqlBool>`(w.started_at, w.boot_id) < (${time}::timestamptz, ${id}::uuid)`),
      )
      .limit(limit + 1);
    const rows = await runQuery(this.#database, query);
    const page = pageOf(rows, limit, (last) => encodeCursor('workers', [last.started_text, last.boot_id]));
    return { rows: page.rows.map(workerOf), nextCursor: page.nextCursor };
  }

  async partitions(filter: PageRequest & { readonly owner?: BootId | undefined }): Promise<Page<PartitionRecord>> {
    const { owner, limit } = filter;
    const [id] = filter.cursor === undefined ? [] : decodeCursor('partitions', filter.cursor, ['integer']);
    const query = selectPartitions(this.#build)
      .$if(owner !== undefined, (q) => q.where('p.owner', '=', owner ?? null))
      .$if(id !== undefined, (q) => q.where('p.id', '>', Number(id)))
      .limit(limit + 1);
    const rows = await runQuery(this.#database, query);
    return pageOf(rows.map(partitionOf), limit, (last) => encodeCursor('partitions', [String(last.id)]));
  }

  async lanes(
    filter: PageRequest & { readonly tenantId?: TenantId | undefined; readonly state?: LaneState | undefined },
  ): Promise<Page<LaneRecord>> {
    const { tenantId, state, limit } = filter;
    const after = filter.cursor === undefined ? undefined : lanePlaceOf(filter.cursor);
    const query = selectLanes(this.#build, { tenantId, state, after, limit: limit + 1 });
    const rows = await runQuery(this.#database, query);
    return pageOf(rows.map(laneOf), limit, (last) =>
      encodeCursor('lanes', [String(last.slot), last.tenantId, last.laneId]),
    );
  }

  async events(
    filter: PageRequest & { readonly tenantId?: TenantId | undefined; readonly status?: RunStatus | undefined },
  ): Promise<Page<EventRecord>> {
    const { tenantId, status, limit } = filter;
    const [below] = filter.cursor === undefined ? [] : decodeCursor('events', filter.cursor, ['uuid']);
    const query = selectEvents(this.#build, { tenantId, status, below, limit: limit + 1 });
    const rows = await runQuery(this.#database, query);
    return pageOf(rows.map(eventOf), limit, (last) => encodeCursor('events', [last.eventId]));
  }

  async lane(laneId: LaneId): Promise<LaneRecord | null> {
    const [row] = await runQuery(this.#database, selectLanes(this.#build, { laneId, limit: 1 }));
    return row === undefined ? null : laneOf(row);
  }

  async event(eventId: EventId): Promise<EventRecord | null> {
    const [row] = await runQuery(this.#database, selectEvents(this.#build, { eventId, limit: 1 }));
    return row === undefined ? null : eventOf(row);
  }
}

function lanePlaceOf(cursor: string) {
  const [slot = '', tenantId = '', laneId = ''] = decodeCursor('lanes', cursor, ['integer', 'uuid', 'uuid']);
  return { slot, tenantId, laneId };
}

type WorkerFilterState = WorkerRecord['state'] | 'open' | undefined;

function workerOf(row: RowOf<typeof selectWorkers>): WorkerRecord {
  return {
    bootId: row.boot_id as BootId,
    kind: row.kind,
    state: nameOf(WORKER_STATE, row.state) ?? 'dead',
    name: row.name,
    pid: row.pid,
    version: row.version,
    turnSlots: row.turn_slots,
    partitions: row.partitions ?? [],
    leader: Boolean(row.leader),
    startedAt: row.started_at,
    beatAt: row.beat_at,
    endedAt: row.ended_at,
  };
}

function partitionOf(row: RowOf<typeof selectPartitions>): PartitionRecord {
  return {
    id: row.id,
    owner: row.owner as BootId | null,
    ownerState: row.owner_state === null ? null : nameOf(WORKER_STATE, row.owner_state),
    epoch: row.epoch,
    changedAt: row.changed_at,
  };
}

function laneOf(row: RowOf<typeof selectLanes>): LaneRecord {
  return {
    slot: row.slot,
    tenantId: row.tenant_id as TenantId,
    laneId: row.id as LaneId,
    tenantName: row.tenant_name,
    agentId: row.agent_id as AgentId,
    agentName: row.agent_name,
    sessionKey: row.key,
    partition: row.partition_id,
    sessionId: row.session_id as SessionId | null,
    fence: row.fence,
    seq: row.seq,
    turnId: row.turn_id as TurnId | null,
    bootId: row.turn_id === null ? null : (row.boot_id as BootId | null),
    queued: row.queued ?? 0,
    resumes: row.resumes,
    suspended: row.suspended,
    paused: row.paused,
    lastActivityAt: row.last_activity_at,
  };
}

function eventOf(row: RowOf<typeof selectEvents>): EventRecord {
  return {
    eventId: row.id as EventId,
    tenantId: row.tenant_id as TenantId,
    tenantName: row.tenant_name,
    sessionKey: row.key,
    kind: nameOf(EVENT_KIND, row.kind) ?? 'message',
    status: runStatusOf(row.state, row.is_running),
    attempts: row.attempts + (row.is_running ? 1 : 0),
    acceptedAt: row.accepted_at,
    acceptedBy: row.accepted_by as BootId | null,
    startedAt: row.started_at,
    settledAt: row.settled_at,
  };
}

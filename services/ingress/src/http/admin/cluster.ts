import {
  type BootId,
  type EventId,
  type EventRecord,
  formatId,
  type LaneId,
  type LaneRecord,
  type PartitionRecord,
  parseId,
  type WorkerRecord,
} from '@turnkeeper/core';
import {
  EventListQuerySchema,
  type Lane,
  LaneListQuerySchema,
  LIST_LIMIT_DEFAULT,
  NoQuerySchema,
  type OperatorEvent,
  type Partition,
  PartitionListQuerySchema,
  type Worker,
  WorkerListQuerySchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { found, pageAnswer } from '../pages.ts';
import { parseQuery } from '../requests.ts';
import { type AdminParts, tenantIdOf } from './admin-parts.ts';

/** `/admin/v1/{workers,partitions,lanes,events}`: the cluster as its rows say it is; one lane or event by its id. */
export function registerCluster(app: FastifyInstance, parts: AdminParts): void {
  const { cluster } = parts;
  app.get('/admin/v1/workers', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, ...filter } = parseQuery(WorkerListQuerySchema, request.query);
    return pageAnswer(await cluster.workers({ limit, ...filter }), workerAnswer);
  });
  app.get('/admin/v1/partitions', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, owner, cursor } = parseQuery(PartitionListQuerySchema, request.query);
    const page = await cluster.partitions({ limit, cursor, owner: owner as BootId | undefined });
    return pageAnswer(page, partitionAnswer);
  });
  app.get('/admin/v1/lanes', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, tenant, ...filter } = parseQuery(LaneListQuerySchema, request.query);
    const tenantId = await tenantIdOf(tenant, parts);
    return pageAnswer(await cluster.lanes({ limit, tenantId, ...filter }), laneAnswer);
  });
  app.get('/admin/v1/events', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, tenant, ...filter } = parseQuery(EventListQuerySchema, request.query);
    const tenantId = await tenantIdOf(tenant, parts);
    return pageAnswer(await cluster.events({ limit, tenantId, ...filter }), eventAnswer);
  });
  app.get<ById>('/admin/v1/lanes/:id', async (request) => {
    parseQuery(NoQuerySchema, request.query);
    const laneId = z.guid().safeParse(request.params.id).data as LaneId | undefined;
    return laneAnswer(found(laneId === undefined ? null : await cluster.lane(laneId), 'not_found', 'lane'));
  });
  app.get<ById>('/admin/v1/events/:id', async (request) => {
    parseQuery(NoQuerySchema, request.query);
    // `evt_X` and `run_X` are one event
    const { id } = request.params;
    const eventId = parseId<EventId>(id, 'evt') ?? parseId<EventId>(id, 'run');
    return eventAnswer(found(eventId && (await cluster.event(eventId)), 'not_found', 'event'));
  });
}

interface ById {
  Params: { id: string };
}

function workerAnswer(row: WorkerRecord): Worker {
  const { startedAt, beatAt, endedAt, partitions, ...rest } = row;
  return {
    ...rest,
    partitions: [...partitions],
    startedAt: startedAt.toISOString(),
    beatAt: beatAt.toISOString(),
    ...(endedAt === null ? {} : { endedAt: endedAt.toISOString() }),
  };
}

function partitionAnswer({ changedAt, ...row }: PartitionRecord): Partition {
  return { ...row, changedAt: changedAt.toISOString() };
}

function laneAnswer(row: LaneRecord): Lane {
  const { tenantId, tenantName, agentId, agentName, sessionId, turnId, lastActivityAt, ...rest } = row;
  return {
    ...rest,
    tenantId: formatId('ten', tenantId),
    tenant: tenantName,
    agentId: formatId('agt', agentId),
    agent: agentName,
    sessionId: sessionId && formatId('ses', sessionId),
    turnId: turnId && formatId('trn', turnId),
    lastActivityAt: lastActivityAt.toISOString(),
  };
}

function eventAnswer(row: EventRecord): OperatorEvent {
  const { eventId, tenantId, tenantName, acceptedAt, startedAt, settledAt, ...rest } = row;
  return {
    ...rest,
    eventId: formatId('evt', eventId),
    runId: formatId('run', eventId),
    tenantId: formatId('ten', tenantId),
    tenant: tenantName,
    acceptedAt: acceptedAt.toISOString(),
    ...(startedAt === null ? {} : { startedAt: startedAt.toISOString() }),
    ...(settledAt === null ? {} : { settledAt: settledAt.toISOString() }),
  };
}

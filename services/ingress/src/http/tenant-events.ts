import { AppError, type Clock, type Counter, type Micros } from '@turnkeeper/core';
import { TenantEventIdSchema, TenantStreamQuerySchema, writeTenantEventId } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { StreamSink } from '../streams/session-streams.ts';
import { streamFilter } from '../streams/stream-filter.ts';
import type { TenantSink } from '../streams/tenant-follower.ts';
import type { JoinedTenant, TenantStreams } from '../streams/tenant-streams.ts';
import type { Access } from './access.ts';
import { parseQuery } from './requests.ts';
import { SseConnection } from './sse.ts';

export interface TenantEventParts {
  readonly access: Access;
  readonly clock: Clock;
  readonly tenantStreams: TenantStreams;
  readonly openStreams: OpenStreams;
  /** Ephemeral events that slow readers lost. */
  readonly deltasDropped: Counter;
}

type Sink = TenantSink & Pick<StreamSink, 'say'>;

/** `GET /v1/events`: the stream of all conversations of a tenant, from a cursor on or from now on. */
export function registerTenantEvents(app: FastifyInstance, parts: TenantEventParts): void {
  const route = { onRequest: parts.access.requires('sessions:read'), exposeHeadRoute: false };
  app.get('/v1/events', route, (request, reply) => serve(request, reply, parts));
}

async function serve(request: FastifyRequest, reply: FastifyReply, parts: TenantEventParts): Promise<FastifyReply> {
  const { after = null, ...filter } = parseQuery(TenantStreamQuerySchema, request.query);
  const cursor = cursorOf(request.headers['last-event-id']) ?? after;
  const { access, clock, openStreams, deltasDropped: dropped } = parts;
  const caller = access.callerOf(request);
  const { tenantId } = caller.tenant;
  const release = openStreams.reserve(tenantId);
  const sink = new LateTenantSink();
  let joined: JoinedTenant;
  try {
    joined = await parts.tenantStreams.join(tenantId, sink);
  } catch (error) {
    release();
    throw error;
  }
  const subject = { tenantId, sessionKey: '' };
  const connection = new SseConnection(reply, { subject, clock, dropped, cursor: () => joined.cursor });
  connection.onEnd(() => {
    joined.close();
    release();
  });
  openStreams.add(connection, { kind: 'tenant', caller });
  const now = () => new Date(clock.nowMs()).toISOString();
  sink.target = tenantSink(connection, streamFilter(filter), now);
  // the answer has begun: a store that is away now can only end it, and the reader comes back with its cursor
  joined.begin(cursor).catch(() => openStreams.end(connection));
  return reply;
}

/** @throws AppError `invalid_cursor` */
function cursorOf(lastEventId: unknown): Micros | null {
  if (lastEventId === undefined || lastEventId === '') return null;
  const cursor = TenantEventIdSchema.safeParse(lastEventId);
  if (cursor.success) return cursor.data;
  throw new AppError({ code: 'invalid_cursor', message: 'Last-Event-ID is not the id of an event of this stream' });
}

function tenantSink(connection: SseConnection, passes: (type: string) => boolean, now: () => string): Sink {
  return {
    durable: ({ seq, ...event }, toldTo) => {
      if (passes(event.type)) connection.forward({ ...event, seq: String(seq) }, writeTenantEventId(toldTo));
    },
    ephemeral: (event) => {
      if (passes(event.type)) connection.forward(event);
    },
    say: (type, data) => connection.send(type, data, { at: now() }),
    drained: () => connection.drained(),
  };
}

/** The tenant is joined before the answer begins, so that a refusal is still an answer. */
class LateTenantSink implements Sink {
  target: Sink | null = null;

  readonly durable: Sink['durable'] = (event, toldTo) => this.target?.durable(event, toldTo);
  readonly ephemeral: Sink['ephemeral'] = (event) => this.target?.ephemeral(event);
  readonly say: Sink['say'] = (type, data) => this.target?.say(type, data);
  readonly drained: Sink['drained'] = async () => this.target?.drained();
}

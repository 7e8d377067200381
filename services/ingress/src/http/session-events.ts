import type { AcceptMessage, Clock, Counter, LaneRef } from '@turnkeeper/core';
import { StreamQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { JoinedLane, SessionStreams } from '../streams/session-streams.ts';
import { LateSink, sseSink } from '../streams/sse-sink.ts';
import { cursorOf, streamFilter } from '../streams/stream-filter.ts';
import { type Room, roomsOf, type Visitor } from '../visitors/visitor.ts';
import type { Access } from './access.ts';
import { parseQuery } from './requests.ts';
import { type BySession, findSession, type SessionParts, selectorOf } from './sessions.ts';
import { SseConnection } from './sse.ts';

export interface SessionEventParts extends SessionParts {
  readonly access: Access;
  readonly acceptMessage: Pick<AcceptMessage, 'laneOf'>;
  readonly clock: Clock;
  readonly sessionStreams: SessionStreams;
  readonly openStreams: OpenStreams;
  /** Ephemeral events that slow readers lost. */
  readonly deltasDropped: Counter;
}

/** `GET /v1/sessions/{session}/events`: the stream of one conversation, from a seq on or from now on. */
export function registerSessionEvents(app: FastifyInstance, parts: SessionEventParts): void {
  const route = { onRequest: parts.access.admits('sessions:read', { tickets: true }), exposeHeadRoute: false };
  app.get<BySession>('/v1/sessions/:session/events', route, (request, reply) => serve(request, reply, parts));
}

async function serve(
  request: FastifyRequest<BySession>,
  reply: FastifyReply,
  parts: SessionEventParts,
): Promise<FastifyReply> {
  const query = parseQuery(StreamQuerySchema, request.query);
  const cursor = cursorOf(query, request.headers['last-event-id']);
  const caller = parts.access.principalOf(request);
  const { lane, sessionKey } = await followed(request, query.agentId, parts);
  const release = parts.openStreams.reserve(lane.tenantId);
  const sink = new LateSink();
  let joined: JoinedLane;
  try {
    joined = await parts.sessionStreams.join(lane, sink);
  } catch (error) {
    release();
    throw error;
  }
  const about = { subject: { tenantId: lane.tenantId, sessionKey }, clock: parts.clock, dropped: parts.deltasDropped };
  const connection = new SseConnection(reply, about);
  connection.onEnd(() => {
    joined.close();
    release();
  });
  parts.openStreams.add(connection, { kind: 'session', caller });
  sink.target = sseSink(connection, streamFilter(query, caller.kind), () =>
    new Date(parts.clock.nowMs()).toISOString(),
  );
  // the answer has begun: a store that is away now can only end it, and the reader comes back with its cursor
  joined.begin(cursor).catch(() => parts.openStreams.end(connection));
  return reply;
}

/** A visitor may listen in a room of its own before anything was said there. */
async function followed(
  request: FastifyRequest<BySession>,
  agentId: string | undefined,
  parts: SessionEventParts,
): Promise<{ readonly lane: LaneRef; readonly sessionKey: string }> {
  const principal = parts.access.principalOf(request);
  const room = principal.kind === 'visitor' ? roomBehind(principal, request.params.session) : null;
  if (principal.kind === 'key' || room === null) return findSession(request, agentId, parts);
  return { lane: parts.acceptMessage.laneOf({ ...principal, target: room }), sessionKey: room.sessionKey };
}

function roomBehind(visitor: Visitor, session: string): Room | null {
  const selector = selectorOf(session, visitor.agent.agentId);
  if (selector.by === 'id') return null;
  return roomsOf(visitor).find(({ sessionKey }) => sessionKey === selector.sessionKey) ?? null;
}

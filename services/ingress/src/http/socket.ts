import { randomUUID } from 'node:crypto';
import websocket from '@fastify/websocket';
import { AppError, type Clock, type Counter, type Logger, NOBODY, type WebChatAccounts } from '@turnkeeper/core';
import {
  CLOSE_CODES,
  FRAME_BYTES_MAX,
  type ServerFrame,
  SOCKET_PROTOCOL,
  SocketQuerySchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { ClientSocket, type FrameHandler } from '../sockets/client-socket.ts';
import { JoinedRooms } from '../sockets/joined-rooms.ts';
import { type KeyFrameParts, KeyFrames } from '../sockets/key-frames.ts';
import type { OpenSockets } from '../sockets/open-sockets.ts';
import { SocketLink } from '../sockets/socket-link.ts';
import { type VisitorFrameParts, VisitorFrames } from '../sockets/visitor-frames.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { SessionStreams } from '../streams/session-streams.ts';
import { streamFilter } from '../streams/stream-filter.ts';
import { ClientTokens } from '../visitors/client-tokens.ts';
import { checkOrigin } from '../visitors/origins.ts';
import { roomsOf } from '../visitors/visitor.ts';
import type { Access, Principal } from './access.ts';
import { parseQuery } from './requests.ts';

export interface SocketParts extends VisitorFrameParts, KeyFrameParts {
  readonly inputs: VisitorFrameParts['inputs'];
  readonly access: Access;
  readonly webChats: Pick<WebChatAccounts, 'knowsOrigin'>;
  readonly sessionStreams: SessionStreams;
  readonly openStreams: OpenStreams;
  readonly openSockets: OpenSockets;
  readonly deltasDropped: Counter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly readJson: (text: string) => unknown;
}

const PATH = '/v1/ws';
const AUTH_MS = 5_000;

/** `GET /v1/ws`: web chat of visitors, and streams for keys (surface §4). Who may not is told so before the upgrade. */
export function registerSocket(app: FastifyInstance, parts: SocketParts): void {
  app.register(websocket, {
    options: {
      maxPayload: FRAME_BYTES_MAX,
      handleProtocols: (offered) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
    },
    // the library has closed it with the code of what was wrong
    errorHandler: () => undefined,
    // sockets end as the streams of this node do, see IngressService
    preClose: (done) => done(),
  });
  app.register((scope, _options, done) => {
    scope.route({
      method: 'GET',
      url: PATH,
      exposeHeadRoute: false,
      onRequest: (request, reply) => letIn(request, reply, parts),
      handler: () => {
        throw new AppError({ code: 'invalid_field', message: 'this path takes a WebSocket handshake' });
      },
      wsHandler: (socket, request) => serve(socket, request, parts),
    });
    done();
  });
}

/** Whoever says who it is must be let in now; else the page must be one that some web chat knows, until it is known whose. */
async function letIn(request: FastifyRequest, reply: FastifyReply, parts: SocketParts): Promise<void> {
  if (request.ws) reply.isTimed = false;
  const { ticket } = parseQuery(SocketQuerySchema, request.query);
  if (!request.ws || request.headers.authorization !== undefined || ticket !== undefined) {
    await parts.access.admits('sessions:read', { tickets: true })(request, reply);
    return;
  }
  const { origin } = request.headers;
  if (origin === undefined || !(await parts.webChats.knowsOrigin(origin))) checkOrigin(request, null);
}

function serve(socket: WebSocket, request: FastifyRequest, parts: SocketParts): void {
  const { openStreams, openSockets, clock, deltasDropped } = parts;
  const link = new SocketLink(socket, { id: randomUUID(), clock, dropped: deltasDropped });
  openSockets.add(link);
  let release: () => void;
  try {
    release = openStreams.reserve(request.caller?.tenant.tenantId ?? NOBODY);
  } catch {
    link.end(CLOSE_CODES.overload, 'too many sockets');
    return;
  }
  link.onEnd(() => release());
  const client = new ClientSocket({
    ...{ link, readJson: parts.readJson, nowMs: () => clock.monotonicMs() },
    authenticate: async (token) => {
      const principal = await principalOf(token, request, parts.access);
      // in one step: with all places taken by sockets that nobody knows yet, none could become known
      release();
      release = () => undefined;
      const own = openStreams.reserve(principal.tenant.tenantId);
      if (link.isOpen) release = own;
      else own();
      return principal;
    },
    open: (principal) => open(principal, { link, request, parts }),
  });
  socket.on('message', (data, isBinary) => client.receive(isBinary ? null : textOf(data)));
  if (request.caller !== null) client.begin(request.caller);
  else void closeUnknown(client, link, clock);
}

async function closeUnknown(client: ClientSocket, link: SocketLink, clock: Clock): Promise<void> {
  const gone = new AbortController();
  link.onEnd(() => gone.abort());
  await clock.sleep(AUTH_MS, gone.signal);
  if (!client.isKnown) link.end(CLOSE_CODES.authDeadline, 'nobody said who this is');
}

async function principalOf(token: string, request: FastifyRequest, access: Access): Promise<Principal> {
  if (!ClientTokens.isOne(token)) {
    return access.caller({ headers: { authorization: `Bearer ${token}` } }, 'sessions:read');
  }
  const visitor = await access.visitor(token);
  checkOrigin(request, visitor.account);
  return visitor;
}

function open(
  principal: Principal,
  {
    link,
    request,
    parts,
  }: { readonly link: SocketLink; readonly request: FastifyRequest; readonly parts: SocketParts },
): FrameHandler {
  const { openStreams, sessionStreams } = parts;
  link.belongsTo(principal);
  const rooms = new JoinedRooms({
    ...{ link, sessionStreams },
    passes: streamFilter(parseQuery(SocketQuerySchema, request.query), principal.kind),
    onLost: () => link.end(CLOSE_CODES.storeDown, 'store_unavailable'),
  });
  link.answer(welcome(principal));
  openStreams.add(link, { kind: 'socket', caller: principal });
  if (principal.kind === 'key') return new KeyFrames(principal, { link, rooms, parts });
  return new VisitorFrames(principal, { link, rooms, parts });
}

function welcome(principal: Principal): ServerFrame {
  if (principal.kind === 'key') return { type: 'auth.ok' };
  const sessionKeys = Object.fromEntries(roomsOf(principal).map(({ room, sessionKey }) => [room, sessionKey]));
  const expiresAt = new Date(principal.expiresAtMs).toISOString();
  return { type: 'auth.ok', sub: principal.sub, rooms: principal.rooms, sessionKeys, expiresAt };
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}

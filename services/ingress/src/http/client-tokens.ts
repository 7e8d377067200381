import {
  type AccountConfig,
  type AgentConfig,
  AppError,
  type Clock,
  formatId,
  type WebChatAccounts,
} from '@turnkeeper/core';
import {
  CLIENT_TOKEN_SECONDS_MAX,
  type ClientToken,
  ClientTokenRequestSchema,
  NoQuerySchema,
  type StreamTicket,
} from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DEFAULT_AGENT, type Targets } from '../intake/targets.ts';
import { type ClientTokens, roomNames } from '../visitors/client-tokens.ts';
import type { StreamTickets } from '../visitors/stream-tickets.ts';
import { roomsOf, type Visitor } from '../visitors/visitor.ts';
import type { Access, Caller } from './access.ts';
import { parseBody, parseQuery } from './requests.ts';

export interface ClientTokenParts {
  readonly access: Pick<Access, 'requires' | 'callerOf' | 'admits' | 'principalOf'>;
  readonly targets: Pick<Targets, 'agent' | 'resolve'>;
  readonly webChats: Pick<WebChatAccounts, 'ofAgent'>;
  readonly clientTokens: Pick<ClientTokens, 'sign'>;
  readonly tickets: Pick<StreamTickets, 'issue'>;
  readonly clock: Clock;
}

const Nothing = z.strictObject({});

/** `POST /v1/client-tokens`: what a page's server gives its visitors. `POST /v1/stream-tickets`: for addresses of streams. */
export function registerClientTokens(app: FastifyInstance, parts: ClientTokenParts): void {
  const { access, clientTokens, tickets } = parts;
  app.post('/v1/client-tokens', { onRequest: access.requires('messages:write') }, async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const asked = parseBody(ClientTokenRequestSchema, request.body);
    const visitor = await visitorOf(access.callerOf(request), asked, parts);
    const sessionKeys = Object.fromEntries(roomsOf(visitor).map(({ room, sessionKey }) => [room, sessionKey]));
    const { agent, account, sub, rooms, expiresAtMs } = visitor;
    const answer: ClientToken = {
      token: await clientTokens.sign(visitor),
      expiresAt: new Date(expiresAtMs).toISOString(),
      ...{ sub, agentId: formatId('agt', agent.agentId), rooms: [...rooms], sessionKeys },
      ...(account === null ? {} : { accountId: formatId('acc', account.accountId) }),
    };
    return reply.code(201).send(answer);
  });
  app.post('/v1/stream-tickets', { onRequest: access.admits('sessions:read') }, async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    parseBody(Nothing, request.body ?? {});
    const { ticket, expiresAtMs } = await tickets.issue(access.principalOf(request));
    const answer: StreamTicket = { ticket, expiresAt: new Date(expiresAtMs).toISOString() };
    return reply.code(201).send(answer);
  });
}

type Asked = z.infer<typeof ClientTokenRequestSchema>;

async function visitorOf({ tenant }: Caller, asked: Asked, parts: ClientTokenParts): Promise<Visitor> {
  const { sub, name = null, ttlSeconds = CLIENT_TOKEN_SECONDS_MAX } = asked;
  const expiresAtMs = (Math.floor(parts.clock.nowMs() / 1000) + ttlSeconds) * 1000;
  const way = await wayOf(tenant, asked, parts);
  return { kind: 'visitor', tenant, ...way, sub, name, rooms: roomNames(asked.rooms, sub), expiresAtMs };
}

/** The named account, which must be a web chat; else the agent's first web chat account, where there is one. */
async function wayOf(
  { tenantId }: Caller['tenant'],
  { agentId, accountId }: Asked,
  { targets, webChats }: ClientTokenParts,
): Promise<{ readonly agent: AgentConfig; readonly account: AccountConfig | null }> {
  if (accountId === undefined) {
    const agent = await targets.agent(tenantId, agentId ?? DEFAULT_AGENT);
    return { agent, account: await webChats.ofAgent(tenantId, agent.agentId) };
  }
  const way = await targets.resolve(tenantId, { agentId, accountId });
  if (way.account?.channel === 'webchat') return way;
  throw new AppError({ code: 'account_not_found', message: 'no such web chat account' });
}

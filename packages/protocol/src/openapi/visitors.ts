/** What web chat adds to the HTTP API. */
import { SocketQuerySchema } from '../frames.ts';
import { ClientTokenRequestSchema, ClientTokenSchema, StreamTicketSchema } from '../http/client-tokens.ts';
import { NoQuerySchema } from '../http/fields.ts';
import type { Operation } from './operation.ts';

export const VISITORS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/client-tokens',
    id: 'createClientToken',
    summary: 'Make a token for a visitor of a page',
    door: 'messages:write',
    query: NoQuerySchema,
    body: ClientTokenRequestSchema,
    answers: { 201: ClientTokenSchema },
    errors: ['agent_not_found', 'account_not_found', 'agent_mismatch', 'malformed_key'],
  },
  {
    method: 'post',
    path: '/v1/stream-tickets',
    id: 'createStreamTicket',
    summary: 'Make a ticket that opens one stream within a minute, for addresses',
    door: 'sessions:read',
    visitors: true,
    query: NoQuerySchema,
    answers: { 201: StreamTicketSchema },
  },
  {
    method: 'get',
    path: '/v1/ws',
    id: 'openSocket',
    summary: 'Web chat of visitors and streams for keys, as a WebSocket: see docs/web-chat.md for its frames',
    door: 'sessions:read',
    visitors: true,
    query: SocketQuerySchema,
    answers: { 101: null },
    errors: ['invalid_field'],
  },
];

import { AppError, type WebChatAccounts } from '@turnkeeper/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export interface CrossOriginParts {
  readonly webChats: Pick<WebChatAccounts, 'knowsOrigin'>;
}

/** What a client token opens over HTTP, and how. */
const VISITOR_ROUTES: Readonly<Record<string, string>> = {
  '/v1/attachments/:id': 'GET, HEAD',
  '/v1/sessions/:session/events': 'GET',
  '/v1/sessions/:session/history': 'GET, HEAD',
  '/v1/sessions/:session/stop': 'POST',
  '/v1/stream-tickets': 'POST',
  '/v1/uploads': 'POST',
};
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID';
const ANSWER_HEADERS =
  'Content-Disposition, ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, Turnkeeper-Request-Id';
const PREFLIGHT_SECONDS = 600;

/**
 * Pages of other origins call what a client token opens. A browser asks first, without the token, so what is asked then is
 * whether any web chat account names the page; the call itself is refused unless its own account does. No cookie ever
 * counts, so none is let in. Refusals can be read by known pages, too: a token that has ended must look like one.
 */
export function registerCrossOrigin(app: FastifyInstance, { webChats }: CrossOriginParts): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    if (origin === undefined || !isForVisitors(request) || !(await webChats.knowsOrigin(origin))) return;
    shareWith(request, reply);
  });
  for (const [path, methods] of Object.entries(VISITOR_ROUTES)) {
    app.options(path, (request, reply) => answerPreflight(request, reply, methods));
  }
}

/** Lets the page read the answer. Nothing is sent without being asked to, such as cookies: only the token counts. */
export function shareWith({ headers: { origin } }: FastifyRequest, reply: FastifyReply): void {
  if (origin === undefined) return;
  reply.header('access-control-allow-origin', origin).header('vary', 'Origin');
  reply.header('access-control-expose-headers', ANSWER_HEADERS);
}

function isForVisitors({ routeOptions: { url } }: FastifyRequest): boolean {
  return url !== undefined && url in VISITOR_ROUTES;
}

function answerPreflight(request: FastifyRequest, reply: FastifyReply, methods: string): FastifyReply {
  reply.header('allow', methods);
  if (request.headers['access-control-request-method'] !== undefined) {
    if (!reply.hasHeader('access-control-allow-origin')) throw unknownPage();
    reply.removeHeader('access-control-expose-headers');
    reply.header('access-control-allow-methods', methods).header('access-control-allow-headers', REQUEST_HEADERS);
    reply.header('access-control-max-age', PREFLIGHT_SECONDS);
  }
  return reply.code(204).send();
}

function unknownPage(): AppError {
  return new AppError({
    code: 'origin_not_allowed',
    message: 'this page may not call: no web chat account names its origin in its options',
  });
}

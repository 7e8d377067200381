import { formatId, type SearchHit, type SearchReads, searchTerms } from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT, type SearchAnswer, SearchQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pageAnswer } from './pages.ts';
import type { RateGate } from './rate-gate.ts';
import { parseQuery } from './requests.ts';
import { agentIdOf, filteredSession, type SessionParts } from './sessions.ts';

export interface SearchParts extends SessionParts {
  readonly search: SearchReads;
  readonly rates: RateGate;
}

/** `GET /v1/search`: messages of the tenant's transcripts. A page is work for the store: it counts against the tenant's rate. */
export function registerSearch(app: FastifyInstance, parts: SearchParts): void {
  app.get('/v1/search', { onRequest: parts.access.requires('search:read') }, (request, reply) =>
    search({ request, reply }, parts),
  );
}

async function search({ request, reply }: { request: FastifyRequest; reply: FastifyReply }, parts: SearchParts) {
  const { tenant } = parts.access.callerOf(request);
  const { tenantId } = tenant;
  const query = parseQuery(SearchQuerySchema, request.query);
  await parts.rates.take(tenant, reply);
  const agentId = await agentIdOf(tenantId, query.agentId, parts.targets);
  const session = await filteredSession(tenantId, { ...query, agentId }, parts.sessions);
  const page = await parts.search.search(tenantId, {
    ...{ limit: query.limit ?? LIST_LIMIT_DEFAULT, cursor: query.cursor, agentId, lane: session?.lane },
    // no store keeps NUL, so no message holds it
    terms: searchTerms(query.q.replaceAll('\0', '\ufffd').toWellFormed()),
    ...(query.session?.startsWith('ses_') && { sessionId: session?.sessionId ?? undefined }),
  });
  return pageAnswer(page, hitAnswer);
}

function hitAnswer(hit: SearchHit): SearchAnswer {
  const { messageId, sessionKey, sessionId, agentId, role, seq, snippet, createdAt } = hit;
  return {
    messageId: formatId('msg', messageId),
    sessionKey,
    sessionId: formatId('ses', sessionId),
    agentId: formatId('agt', agentId),
    ...{ role, seq, snippet },
    createdAt: createdAt.toISOString(),
  };
}

import { formatId, type SearchHit, type SearchReads, searchTerms } from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT, type SearchAnswer, SearchQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pageAnswer } from './pages.ts';
import { parseQuery } from './requests.ts';
import { agentIdOf, filteredSession, type SessionParts } from './sessions.ts';

export interface SearchParts extends SessionParts {
  readonly search: SearchReads;
}

/** `GET /v1/search`: messages of the tenant's transcripts. */
export function registerSearch(app: FastifyInstance, parts: SearchParts): void {
  app.get('/v1/search', { onRequest: parts.access.requires('search:read') }, (request) => search(request, parts));
}

async function search(request: FastifyRequest, parts: SearchParts) {
  const { tenantId } = parts.access.callerOf(request).tenant;
  const query = parseQuery(SearchQuerySchema, request.query);
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

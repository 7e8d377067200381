import { formatId, type UsageReads, type UsageRecord } from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT, type Usage, UsageQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { Targets } from '../intake/targets.ts';
import type { Access } from './access.ts';
import { pageAnswer } from './pages.ts';
import { parseQuery } from './requests.ts';
import { agentIdOf } from './sessions.ts';

export interface UsageParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly targets: Pick<Targets, 'agent'>;
  readonly usage: UsageReads;
}

/** `GET /v1/usage`: what the tenant used, by day and agent. */
export function registerUsage(app: FastifyInstance, { access, targets, usage }: UsageParts): void {
  app.get('/v1/usage', { onRequest: access.requires('usage:read') }, async (request) => {
    const { tenantId } = access.callerOf(request).tenant;
    const { limit = LIST_LIMIT_DEFAULT, agentId, ...filter } = parseQuery(UsageQuerySchema, request.query);
    const agent = await agentIdOf(tenantId, agentId, targets);
    return pageAnswer(await usage.list(tenantId, { ...filter, limit, agentId: agent }), usageAnswer);
  });
}

function usageAnswer({ agentId, agentName, ...counts }: UsageRecord): Usage {
  return { ...counts, agentId: formatId('agt', agentId), ...(agentName === null ? {} : { agent: agentName }) };
}

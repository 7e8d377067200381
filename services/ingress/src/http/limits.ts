import type { QueuedEstimate } from '@turnkeeper/core';
import { type LimitsAnswer, NoQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { Access } from './access.ts';
import { parseQuery } from './requests.ts';

export interface LimitParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly queued: Pick<QueuedEstimate, 'of'>;
}

/** `GET /v1/limits`: what the tenant may have at once, and has. */
export function registerLimits(app: FastifyInstance, { access, queued }: LimitParts): void {
  app.get('/v1/limits', { onRequest: access.requires('usage:read') }, (request): LimitsAnswer => {
    parseQuery(NoQuerySchema, request.query);
    const { tenantId, limits } = access.callerOf(request).tenant;
    return { limits: { ...limits }, use: { queuedPerTenant: queued.of(tenantId) } };
  });
}

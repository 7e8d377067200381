import type { Logger, TenantWrites } from '@turnkeeper/core';
import { type ModelList, NoQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { secondsOf } from '../completions/completion-answer.ts';
import type { Access } from './access.ts';
import { completionProblems } from './completion-problems.ts';
import { parseQuery } from './requests.ts';

export interface ModelParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly configs: Pick<TenantWrites, 'listAgents'>;
  readonly logger: Logger;
}

const MODELS_MAX = 1000;
const PAGE = 200;

/** `GET /v1/models`: the agents of the tenant, by name, as clients of OpenAI list models. */
export function registerModels(app: FastifyInstance, parts: ModelParts): void {
  const { access, configs, logger } = parts;
  const route = { onRequest: access.requires('messages:write'), errorHandler: completionProblems(logger) };
  app.get('/v1/models', route, async (request): Promise<ModelList> => {
    parseQuery(NoQuerySchema, request.query);
    const { tenant } = access.callerOf(request);
    const data: ModelList['data'] = [];
    let cursor: string | null | undefined;
    while (cursor !== null && data.length < MODELS_MAX) {
      const page = await configs.listAgents(tenant.tenantId, { limit: PAGE, cursor });
      for (const { name, createdAt } of page.rows) {
        data.push({ id: name, object: 'model', created: secondsOf(createdAt), owned_by: tenant.name });
      }
      cursor = page.nextCursor;
    }
    return { object: 'list', data, has_more: cursor !== null };
  });
}

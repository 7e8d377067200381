import type { TenantWrites } from '@turnkeeper/core';
import { AgentBodySchema, LIST_LIMIT_DEFAULT, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { Access, Caller } from './access.ts';
import { agentAnswer, agentDraft, changeAnswer } from './configuration.ts';
import { found, NoQuerySchema, PageQuerySchema, pageAnswer } from './pages.ts';
import { parseBody, parseQuery } from './requests.ts';

export interface OwnConfigParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly configs: TenantWrites;
}

export const AgentSchemaWithName = AgentBodySchema.safeExtend({ name: NameSchema });

/** `/v1/agents`: a tenant makes its agents and reads them. */
export function registerAgents(app: FastifyInstance, { access, configs }: OwnConfigParts): void {
  const guard = { onRequest: access.requires('agents:write') };
  app.post('/v1/agents', guard, async (request, reply) => {
    const caller = access.callerOf(request);
    parseQuery(NoQuerySchema, request.query);
    const draft = agentDraft(parseBody(AgentSchemaWithName, request.body));
    const { row, change } = await configs.putAgent(caller.tenant.tenantId, draft, writtenBy(caller));
    reply.code(change.result === 'created' ? 201 : 200);
    return { ...agentAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get('/v1/agents', guard, async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, cursor } = parseQuery(PageQuerySchema, request.query);
    return pageAnswer(
      await configs.listAgents(access.callerOf(request).tenant.tenantId, { limit, cursor }),
      agentAnswer,
    );
  });
  app.get<{ Params: { agent: string } }>('/v1/agents/:agent', guard, async (request) => {
    parseQuery(NoQuerySchema, request.query);
    const row = await configs.getAgent(access.callerOf(request).tenant.tenantId, request.params.agent);
    return agentAnswer(found(row, 'agent_not_found', 'agent'));
  });
}

/** Tenants make things anew; what is there and differs is the operator's to change. */
export function writtenBy({ key }: Caller) {
  return { actor: `key:${key.keyId}`, mustBeNew: true } as const;
}

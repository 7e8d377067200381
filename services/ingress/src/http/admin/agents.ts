import { LIST_LIMIT_DEFAULT } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { AgentSchemaWithName } from '../agents.ts';
import { agentAnswer, agentDraft, changeAnswer } from '../configuration.ts';
import { found, pageAnswer, withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { type AdminParts, actorOf, InTenantSchema, PageInTenantSchema, queryInTenant } from './admin-parts.ts';

interface ByAgent {
  Params: { agent: string };
}

/** `/admin/v1/agents?tenant=`: a PUT that changes something adds a version. */
export function registerAdminAgents(app: FastifyInstance, parts: AdminParts): void {
  const { configs } = parts;
  app.put<ByAgent>('/admin/v1/agents/:agent', async (request, reply) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    const draft = agentDraft(parseBody(AgentSchemaWithName, withName(request.body, request.params.agent)));
    const { row, change } = await configs.putAgent(tenant.tenantId, draft, { actor: await actorOf(request, parts) });
    reply.code(change.result === 'created' ? 201 : 200);
    return { ...agentAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get('/admin/v1/agents', async (request) => {
    const { query, tenant } = await queryInTenant(request, PageInTenantSchema, parts);
    const { limit = LIST_LIMIT_DEFAULT, cursor } = query;
    return pageAnswer(await configs.listAgents(tenant.tenantId, { limit, cursor }), agentAnswer);
  });
  app.get<ByAgent>('/admin/v1/agents/:agent', async (request) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    const row = await configs.getAgent(tenant.tenantId, request.params.agent);
    return agentAnswer(found(row, 'agent_not_found', 'agent'));
  });
}

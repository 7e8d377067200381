import type { FastifyInstance } from 'fastify';
import { AgentSchemaWithName, registerAgents } from '../agents.ts';
import { agentAnswer, agentDraft, changeAnswer } from '../configuration.ts';
import { withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { ifVersions, tag } from '../versions.ts';
import { type AdminParts, operatorDoor } from './admin-parts.ts';

/** `/admin/v1/agents?tenant=`: as a tenant's own, and PUT, which makes the agent or brings it to the body. */
export function registerAdminAgents(app: FastifyInstance, parts: AdminParts): void {
  const door = operatorDoor(parts);
  registerAgents(app, door);
  app.put<{ Params: { agent: string } }>('/admin/v1/agents/:agent', async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const draft = agentDraft(parseBody(AgentSchemaWithName, withName(request.body, request.params.agent)));
    const options = { actor, ifVersions: ifVersions(request) };
    const { row, change } = await door.configs.putAgent(tenantId, draft, options);
    reply.code(change.result === 'created' ? 201 : 200);
    tag(reply, row);
    return { ...agentAnswer(row), changes: [changeAnswer(change)] };
  });
}

import type { AgentRow } from '@turnkeeper/core';
import { type AgentBody, AgentBodySchema, type AgentPatch, AgentPatchSchema, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { ConfigDoor } from './config-door.ts';
import { agentAnswer, agentDraft, changeAnswer } from './configuration.ts';
import { found, pageAnswer } from './pages.ts';
import { parseBody } from './requests.ts';
import { changingFrom, ifVersions, tag } from './versions.ts';

export const AgentSchemaWithName = AgentBodySchema.safeExtend({ name: NameSchema });

interface ByAgent {
  Params: { agent: string };
}

/** `/v1/agents` and `/admin/v1/agents`: every change makes a version; versions never change. */
export function registerAgents(app: FastifyInstance, door: ConfigDoor): void {
  const { clock, configs, ids } = door;
  const guard = door.guard('agents:write');
  const [list, one] = [`${door.prefix}/agents`, `${door.prefix}/agents/:agent`];
  app.post(list, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const draft = agentDraft(parseBody(AgentSchemaWithName, request.body));
    const { row, change } = await configs.putAgent(tenantId, draft, { actor, mustBeNew: true });
    reply.code(change.result === 'created' ? 201 : 200);
    tag(reply, row);
    return { ...agentAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get(list, guard, async (request) => {
    const { tenantId, page } = await door.page(request);
    return pageAnswer(await configs.listAgents(tenantId, page), agentAnswer);
  });
  app.get<ByAgent>(one, guard, async (request, reply) => {
    const { tenantId } = await door.asked(request);
    const row = found(await configs.getAgent(tenantId, request.params.agent), 'agent_not_found', 'agent');
    tag(reply, row);
    return agentAnswer(row);
  });
  app.patch<ByAgent>(one, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const patch = parseBody(AgentPatchSchema, request.body);
    const read = async () => found(await configs.getAgent(tenantId, request.params.agent), 'agent_not_found', 'agent');
    const { row, change } = await changingFrom({ request, clock, ids }, read, (known, versions) => {
      const body = parseBody(AgentBodySchema, patched(known, patch));
      return configs.putAgent(tenantId, agentDraft({ ...body, name: known.name }), { actor, ifVersions: versions });
    });
    tag(reply, row);
    return { ...agentAnswer(row), changes: [changeAnswer(change)] };
  });
  app.delete<ByAgent>(one, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const options = { actor, ifVersions: ifVersions(request) };
    found(await configs.deleteAgent(tenantId, request.params.agent, options), 'agent_not_found', 'agent');
    return reply.code(204).send();
  });
}

/** The body that a PUT of the whole would carry. The blocks of a runtime belong to it. */
function patched({ settings }: AgentRow, patch: AgentPatch): object {
  const runtime = patch.runtime ?? settings.runtime;
  const merged: Record<keyof AgentBody, unknown> = {
    name: undefined,
    runtime,
    echo: merge(runtime === settings.runtime ? settings.echo : undefined, patch.echo),
    openai: merge(runtime === settings.runtime ? settings.openai : undefined, patch.openai),
    system: patch.system === undefined ? settings.system : patch.system,
    keyPolicy: patch.keyPolicy === undefined ? settings.keyPolicy : patch.keyPolicy,
    busy: merge(settings.busy, patch.busy),
    limits: merge(settings.limits, patch.limits),
    resume: merge(settings.resume, patch.resume),
    loops: merge(settings.loops, patch.loops),
    reset: patch.reset === undefined ? settings.reset : patch.reset,
    resetByType: patch.resetByType === undefined ? settings.resetByType : patch.resetByType,
    resetByChannel: patch.resetByChannel === undefined ? settings.resetByChannel : patch.resetByChannel,
  };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined && value !== null));
}

function merge(known: object | undefined, patch: object | null | undefined): object | null | undefined {
  return patch === undefined || patch === null ? (patch ?? (patch === null ? null : known)) : { ...known, ...patch };
}

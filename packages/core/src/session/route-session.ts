import type { TenantId } from '../ids.ts';
import type { AgentConfigs, TenantConfigs } from '../ports/configs.ts';
import type { SessionDecision, SessionFacts } from '../ports/lane.ts';
import { decideSession } from '../routing/decide-session.ts';
import { chooseResetPolicy, type ResetSettings } from '../routing/reset-policy.ts';

export interface RouteSessionOptions {
  readonly agents: Pick<AgentConfigs, 'get'>;
  readonly tenants: Pick<TenantConfigs, 'get'>;
}

/** Which session an event gets, by the agent's reset policy of now and the tenant's clock. @throws StoreError */
export async function routeSession(
  tenantId: TenantId,
  facts: SessionFacts,
  { agents, tenants }: RouteSessionOptions,
): Promise<SessionDecision> {
  const [agent, tenant] = await Promise.all([agents.get(tenantId, facts.agentId), tenants.get(tenantId)]);
  const of = (policies: Readonly<Record<string, ResetSettings>> = {}, name: string | null): ResetSettings | null =>
    name !== null && Object.hasOwn(policies, name) ? (policies[name] ?? null) : null;
  const policy = chooseResetPolicy({
    reset: agent?.reset ?? null,
    resetByType: of(agent?.resetByType, facts.chatType),
    resetByChannel: of(agent?.resetByChannel, facts.platform),
  });
  return decideSession(facts, { policy, timeZone: tenant?.timeZone ?? 'UTC' });
}

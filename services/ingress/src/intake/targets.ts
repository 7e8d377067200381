import {
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  type AgentConfig,
  type AgentConfigs,
  type AgentId,
  AppError,
  parseReference,
  type Reference,
  type TenantId,
} from '@turnkeeper/core';

export interface Target {
  readonly agent: AgentConfig;
  readonly account: AccountConfig | null;
}

/** The agent of those who name none. */
export const DEFAULT_AGENT = 'main';

/** Finds the agent and account that a request names, by id or name. */
export class Targets {
  readonly #agents: AgentConfigs;
  readonly #accounts: AccountConfigs;

  constructor(parts: { readonly agents: AgentConfigs; readonly accounts: AccountConfigs }) {
    this.#agents = parts.agents;
    this.#accounts = parts.accounts;
  }

  /**
   * The account's agent answers when an account is named; else the named agent, else `main`.
   * @throws AppError `agent_not_found`, `account_not_found`, `agent_mismatch`; StoreError
   */
  async resolve(
    tenantId: TenantId,
    named: { readonly agentId?: string | undefined; readonly accountId?: string | undefined },
  ): Promise<Target> {
    if (named.accountId === undefined) {
      return { agent: await this.agent(tenantId, named.agentId ?? DEFAULT_AGENT), account: null };
    }
    const account = await this.account(tenantId, named.accountId);
    const agent = await this.#agents.get(tenantId, account.agentId);
    if (agent === null) throw missing('agent_not_found');
    if (named.agentId !== undefined && (await this.agent(tenantId, named.agentId)).agentId !== agent.agentId) {
      throw new AppError({
        code: 'agent_mismatch',
        message: 'the account belongs to another agent; leave agentId out or name its agent',
        fields: [{ pointer: '/agentId', code: 'agent_mismatch' }],
      });
    }
    return { agent, account };
  }

  /** An agent by its id or name. @throws AppError `agent_not_found`; StoreError */
  async agent(tenantId: TenantId, reference: string): Promise<AgentConfig> {
    const agent = await lookUp(this.#agents, tenantId, parseReference<AgentId>(reference, 'agt'));
    if (agent === null) throw missing('agent_not_found');
    return agent;
  }

  /** An account by its id or name. @throws AppError `account_not_found`; StoreError */
  async account(tenantId: TenantId, reference: string): Promise<AccountConfig> {
    const account = await lookUp(this.#accounts, tenantId, parseReference<AccountId>(reference, 'acc'));
    if (account === null) throw missing('account_not_found');
    return account;
  }
}

interface Lookup<Id, Config> {
  get(tenantId: TenantId, id: Id): Promise<Config | null>;
  byName(tenantId: TenantId, name: string): Promise<Config | null>;
}

async function lookUp<Id extends string, Config>(
  configs: Lookup<Id, Config>,
  tenantId: TenantId,
  named: Reference<Id> | null,
): Promise<Config | null> {
  if (named === null) return null;
  return named.by === 'id' ? configs.get(tenantId, named.value) : configs.byName(tenantId, named.value);
}

function missing(code: 'agent_not_found' | 'account_not_found'): AppError {
  return new AppError({ code, message: code === 'agent_not_found' ? 'no such agent' : 'no such account' });
}

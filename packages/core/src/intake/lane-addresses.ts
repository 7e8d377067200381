import { type LaneId, laneIdOf, slotOf } from '../ids.ts';
import type { AgentConfig, TenantConfig } from '../ports/configs.ts';

export interface LaneAddress {
  readonly laneId: LaneId;
  readonly slot: number;
}

const ADDRESSES_MAX = 20_000;

/** Lane ids and slots of the conversations that speak now: both are hashes, and a talk has many messages. */
export class LaneAddresses {
  /** Two generations: when the young one is full it becomes the old one, and what is asked for comes back. */
  #young = new Map<string, LaneAddress>();
  #old = new Map<string, LaneAddress>();

  of(
    tenant: Pick<TenantConfig, 'tenantId' | 'name'>,
    agent: Pick<AgentConfig, 'agentId' | 'name'>,
    sessionKey: string,
  ): LaneAddress {
    // an agent's id is unique over tenants, and names never change
    const key = `${agent.agentId}${sessionKey}`;
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const address = this.#old.get(key) ?? {
      laneId: laneIdOf(tenant.tenantId, agent.agentId, sessionKey),
      slot: slotOf(tenant.name, agent.name, sessionKey),
    };
    if (this.#young.size >= ADDRESSES_MAX / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, address);
    return address;
  }
}

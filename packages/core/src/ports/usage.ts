import type { AgentId, TenantId } from '../ids.ts';
import type { Page, PageRequest } from './reads.ts';

/** What an agent of a tenant did on one day (UTC). */
export interface UsageRecord {
  /** `2026-01-31` */
  readonly day: string;
  readonly agentId: AgentId;
  /** Null: the agent was deleted. */
  readonly agentName: string | null;
  readonly turns: number;
  /** Accepted messages that ended, however they ended. */
  readonly events: number;
  /** Messages that were owed to an account, whatever became of them. */
  readonly deliveries: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export interface UsageFilter extends PageRequest {
  /** First and last day that counts. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly agentId?: AgentId | undefined;
}

export interface UsageReads {
  /** Newest day first. About a minute behind. @throws StoreError, AppError `invalid_cursor` */
  list(tenantId: TenantId, filter: UsageFilter): Promise<Page<UsageRecord>>;
}

/** Adds up what tenants used. Safe when repeated, and beside another leader: nothing is counted twice. */
export interface UsageCounting {
  /** Tenants of which something ended `lagMs` and longer ago is not counted, the furthest behind first. @throws StoreError */
  due(limits: { readonly tenants: number; readonly lagMs: number }): Promise<readonly TenantId[]>;
  /** One step of one tenant, by at most so many rows of each kind; false: there was nothing to do. @throws StoreError */
  count(tenantId: TenantId, limits: { readonly rows: number; readonly lagMs: number }): Promise<boolean>;
}

import type { TenantId } from '../ids.ts';

/** Stream tickets work once, on whatever node. */
export interface TicketUses {
  /** True the first time. `expiresAt`: nobody asks for it any more after that. @throws StoreError */
  use(tenantId: TenantId, ticket: { readonly id: string; readonly expiresAt: Date }): Promise<boolean>;
}

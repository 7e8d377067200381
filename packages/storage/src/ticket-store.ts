import type { TenantId, TicketUses } from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const USE = call('use_ticket', 3);

/** Which stream tickets were used, on the role `tk_api`. */
export class TicketStore implements TicketUses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async use(tenantId: TenantId, ticket: { readonly id: string; readonly expiresAt: Date }): Promise<boolean> {
    const values = [tenantId, ticket.id, ticket.expiresAt];
    const [row] = await this.#database.query<{ used: boolean }>(USE, values);
    return row?.used === true;
  }
}

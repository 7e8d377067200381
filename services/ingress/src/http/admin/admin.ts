import type { FastifyInstance } from 'fastify';
import { registerAdminAccounts } from './accounts.ts';
import type { AdminParts } from './admin-parts.ts';
import { registerAdminAgents } from './agents.ts';
import { registerCluster } from './cluster.ts';
import { registerJournal } from './journal.ts';
import { registerAdminKeys } from './keys.ts';
import { registerReplays } from './replays.ts';
import { registerTenants } from './tenants.ts';

/** `/admin/v1`: operators only. Every route of this scope asks for their key before it reads a body. */
export function registerAdmin(app: FastifyInstance, parts: AdminParts): void {
  app.register((scope, _options, done) => {
    scope.addHook('onRequest', async (request) => {
      await parts.access.operator(request);
    });
    registerTenants(scope, parts);
    registerAdminAgents(scope, parts);
    registerAdminAccounts(scope, parts);
    registerAdminKeys(scope, parts);
    registerCluster(scope, parts);
    registerReplays(scope, parts);
    registerJournal(scope, parts);
    done();
  });
}

import type { FastifyInstance } from 'fastify';
import { AccountSchemaWithName, registerAccounts } from '../accounts.ts';
import { accountAnswer, accountDraft, changeAnswer, keptSecrets } from '../configuration.ts';
import { found, withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { ifVersions, tag } from '../versions.ts';
import { type AdminParts, operatorDoor } from './admin-parts.ts';

/** `/admin/v1/accounts?tenant=`: as a tenant's own; PUT makes the account or brings it to the body; `unpause` ends a platform's wait. */
export function registerAdminAccounts(app: FastifyInstance, parts: AdminParts): void {
  const door = operatorDoor(parts);
  const { configs } = door;
  registerAccounts(app, door);
  app.put<{ Params: { account: string } }>('/admin/v1/accounts/:account', async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const body = parseBody(AccountSchemaWithName, withName(request.body, request.params.account));
    const draft = accountDraft(body, await keptSecrets(configs, tenantId, body.name));
    const { row, change } = await configs.putAccount(tenantId, draft, { actor, ifVersions: ifVersions(request) });
    reply.code(change.result === 'created' ? 201 : 200);
    tag(reply, row);
    return { ...accountAnswer(row), changes: [changeAnswer(change)] };
  });
  app.post<{ Params: { account: string } }>('/admin/v1/accounts/:account/unpause', async (request) => {
    const { tenantId, actor } = await door.asked(request);
    const row = await configs.unpauseAccount(tenantId, request.params.account, { actor });
    return accountAnswer(found(row, 'account_not_found', 'account'));
  });
}

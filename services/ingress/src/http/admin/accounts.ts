import { LIST_LIMIT_DEFAULT } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { AccountSchemaWithName } from '../accounts.ts';
import { accountAnswer, accountDraft, changeAnswer, keptSecrets } from '../configuration.ts';
import { found, pageAnswer, withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { type AdminParts, actorOf, InTenantSchema, PageInTenantSchema, queryInTenant } from './admin-parts.ts';

interface ByAccount {
  Params: { account: string };
}

/** `/admin/v1/accounts?tenant=`: a PUT that changes something adds a version. */
export function registerAdminAccounts(app: FastifyInstance, parts: AdminParts): void {
  const { configs } = parts;
  app.put<ByAccount>('/admin/v1/accounts/:account', async (request, reply) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    const body = parseBody(AccountSchemaWithName, withName(request.body, request.params.account));
    const draft = accountDraft(body, await keptSecrets(configs, tenant.tenantId, body.name));
    const { row, change } = await configs.putAccount(tenant.tenantId, draft, { actor: await actorOf(request, parts) });
    reply.code(change.result === 'created' ? 201 : 200);
    return { ...accountAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get('/admin/v1/accounts', async (request) => {
    const { query, tenant } = await queryInTenant(request, PageInTenantSchema, parts);
    const { limit = LIST_LIMIT_DEFAULT, cursor } = query;
    return pageAnswer(await configs.listAccounts(tenant.tenantId, { limit, cursor }), accountAnswer);
  });
  app.get<ByAccount>('/admin/v1/accounts/:account', async (request) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    const row = await configs.getAccount(tenant.tenantId, request.params.account);
    return accountAnswer(found(row, 'account_not_found', 'account'));
  });
}

import { type AccountDraft, AppError } from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT, NameSchema, TenantBodySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { accountDraft, changeAnswer, keptSecrets, tenantAnswer, tenantDraft } from '../configuration.ts';
import { found, NoQuerySchema, PageQuerySchema, pageAnswer, withName } from '../pages.ts';
import { parseBody, parseQuery } from '../requests.ts';
import { type AdminParts, actorOf } from './admin-parts.ts';

const NamedTenantSchema = TenantBodySchema.safeExtend({ name: NameSchema });
type NamedTenant = z.infer<typeof NamedTenantSchema>;

interface ByTenant {
  Params: { tenant: string };
}

/** `/admin/v1/tenants`. A PUT may carry keys, agents and accounts: all of it happens, or nothing. */
export function registerTenants(app: FastifyInstance, parts: AdminParts): void {
  const { operator } = parts;
  app.put<ByTenant>('/admin/v1/tenants/:tenant', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const body = parseBody(NamedTenantSchema, withName(request.body, request.params.tenant));
    const draft = tenantDraft(body, await accountDrafts(body, parts));
    const { row, changes, tokens } = await operator.putTenant(draft, await actorOf(request, parts));
    reply.code(changes[0]?.result === 'created' ? 201 : 200);
    const told = changes.map((change) =>
      changeAnswer(change, change.kind === 'key' ? tokens.get(change.name) : undefined),
    );
    return { ...tenantAnswer(row), changes: told };
  });
  app.get('/admin/v1/tenants', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, cursor } = parseQuery(PageQuerySchema, request.query);
    return pageAnswer(await operator.listTenants({ limit, cursor }), tenantAnswer);
  });
  app.get<ByTenant>('/admin/v1/tenants/:tenant', async (request) => {
    parseQuery(NoQuerySchema, request.query);
    return tenantAnswer(found(await operator.getTenant(request.params.tenant), 'not_found', 'tenant'));
  });
}

/** What is wrong with an account of a tenant is told by its place in the tenant. */
async function accountDrafts(body: NamedTenant, { operator, configs }: AdminParts): Promise<AccountDraft[]> {
  const tenant = body.accounts === undefined ? null : await operator.getTenant(body.name);
  const drafts: AccountDraft[] = [];
  for (const [i, account] of (body.accounts ?? []).entries()) {
    const kept = tenant === null ? [] : await keptSecrets(configs, tenant.tenantId, account.name);
    try {
      drafts.push(accountDraft(account, kept));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const place = `/accounts/${i}`;
      const fields = error.fields.map((field) => ({ ...field, pointer: place + field.pointer }));
      throw new AppError({ code: error.code, message: `${place}: ${error.message}`, fields, cause: error });
    }
  }
  return drafts;
}

import { type AccountDraft, AppError, type FieldError, fieldsBelow, fieldsError } from '@turnkeeper/core';
import {
  LIST_LIMIT_DEFAULT,
  NameSchema,
  PutTenantQuerySchema,
  TenantBodySchema,
  TenantPatchSchema,
} from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import {
  accountDraft,
  changeAnswer,
  keptSecrets,
  patchedTenant,
  receiptAnswer,
  tenantAnswer,
  tenantDraft,
} from '../configuration.ts';
import { found, NoQuerySchema, PageQuerySchema, pageAnswer, withName } from '../pages.ts';
import { parseBody, parseQuery } from '../requests.ts';
import { changingFrom, ifVersions, tag } from '../versions.ts';
import { type AdminParts, actorOf } from './admin-parts.ts';

const NamedTenantSchema = TenantBodySchema.safeExtend({ name: NameSchema });
type NamedTenant = z.infer<typeof NamedTenantSchema>;

/** What `?prune=true` looks at, when the body has it. */
const LISTS = ['keys', 'agents', 'accounts'] as const;

interface ByTenant {
  Params: { tenant: string };
}

/** `/admin/v1/tenants`. A PUT may carry keys, agents and accounts: all of it happens, or nothing. */
export function registerTenants(app: FastifyInstance, parts: AdminParts): void {
  const { operator, clock, ids } = parts;
  app.put<ByTenant>('/admin/v1/tenants/:tenant', async (request, reply) => {
    const { dryRun, prune } = parseQuery(PutTenantQuerySchema, request.query);
    const body = parseBody(NamedTenantSchema, withName(request.body, request.params.tenant));
    const draft = tenantDraft(body, await accountDrafts(body, parts));
    const { row, changes, tokens } = await operator.putTenant(draft, {
      actor: await actorOf(request, parts),
      dryRun: dryRun === 'true',
      prune: prune === 'true' ? LISTS.filter((list) => body[list] !== undefined) : [],
      ifVersions: ifVersions(request),
    });
    reply.code(changes[0]?.result === 'created' ? 201 : 200);
    // what a dry run says is not there
    if (dryRun !== 'true') tag(reply, row);
    const told = changes.map((change) =>
      changeAnswer(change, change.kind === 'key' ? tokens.get(change.name) : undefined),
    );
    return { ...tenantAnswer(row), changes: told };
  });
  app.patch<ByTenant>('/admin/v1/tenants/:tenant', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const patch = parseBody(TenantPatchSchema, request.body);
    const actor = await actorOf(request, parts);
    const read = async () => found(await operator.getTenant(request.params.tenant), 'not_found', 'tenant');
    const { row, changes } = await changingFrom({ request, clock, ids }, read, (known, versions) =>
      operator.putTenant(patchedTenant(known, patch), { actor, ifVersions: versions }),
    );
    tag(reply, row);
    return { ...tenantAnswer(row), changes: changes.map((change) => changeAnswer(change)) };
  });
  registerDeletion(app, parts);
  app.get('/admin/v1/tenants', async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, cursor } = parseQuery(PageQuerySchema, request.query);
    return pageAnswer(await operator.listTenants({ limit, cursor }), tenantAnswer);
  });
  app.get<ByTenant>('/admin/v1/tenants/:tenant', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const row = found(await operator.getTenant(request.params.tenant), 'not_found', 'tenant');
    tag(reply, row);
    return tenantAnswer(row);
  });
}

function registerDeletion(app: FastifyInstance, parts: AdminParts): void {
  const { operator } = parts;
  app.delete<ByTenant>('/admin/v1/tenants/:tenant', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const receipt = await operator.deleteTenant(request.params.tenant, {
      actor: await actorOf(request, parts),
      ifVersions: ifVersions(request),
    });
    reply.code(202);
    return receiptAnswer(found(receipt, 'not_found', 'tenant'));
  });
  app.get<ByTenant>('/admin/v1/tenants/:tenant/receipt', async (request) => {
    parseQuery(NoQuerySchema, request.query);
    return receiptAnswer(found(await operator.getReceipt(request.params.tenant), 'not_found', 'receipt'));
  });
}

/** What is wrong with the accounts of a tenant is told at once, each by its place in the tenant. */
async function accountDrafts(body: NamedTenant, { operator, configs }: AdminParts): Promise<AccountDraft[]> {
  const tenant = body.accounts === undefined ? null : await operator.getTenant(body.name);
  const drafts: AccountDraft[] = [];
  const refused: FieldError[] = [];
  for (const [i, account] of (body.accounts ?? []).entries()) {
    const kept = tenant === null ? [] : await keptSecrets(configs, tenant.tenantId, account.name);
    try {
      drafts.push(accountDraft(account, kept));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refused.push(...fieldsBelow(`/accounts/${i}`, error));
    }
  }
  if (refused.length > 0) throw fieldsError('config_invalid', refused);
  return drafts;
}

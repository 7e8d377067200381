import { KeyBodySchema, LIST_LIMIT_DEFAULT, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { changeAnswer, keyAnswer, keyDraft } from '../configuration.ts';
import { found, pageAnswer, withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { type AdminParts, actorOf, InTenantSchema, PageInTenantSchema, queryInTenant } from './admin-parts.ts';

const NamedKeySchema = KeyBodySchema.safeExtend({ name: NameSchema });

interface ByKey {
  Params: { key: string };
}

/** `/admin/v1/keys?tenant=`: a token is shown only by the PUT that made it. */
export function registerAdminKeys(app: FastifyInstance, parts: AdminParts): void {
  const { operator } = parts;
  app.put<ByKey>('/admin/v1/keys/:key', async (request, reply) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    const draft = keyDraft(parseBody(NamedKeySchema, withName(request.body, request.params.key)));
    const { row, change, token } = await operator.putKey(tenant.tenantId, draft, await actorOf(request, parts));
    reply.code(change.result === 'created' ? 201 : 200);
    return { ...keyAnswer(row, token), changes: [changeAnswer(change)] };
  });
  app.get('/admin/v1/keys', async (request) => {
    const { query, tenant } = await queryInTenant(request, PageInTenantSchema, parts);
    const { limit = LIST_LIMIT_DEFAULT, cursor } = query;
    return pageAnswer(await operator.listKeys(tenant.tenantId, { limit, cursor }), (row) => keyAnswer(row));
  });
  app.get<ByKey>('/admin/v1/keys/:key', async (request) => {
    const { tenant } = await queryInTenant(request, InTenantSchema, parts);
    return keyAnswer(found(await operator.getKey(tenant.tenantId, request.params.key), 'not_found', 'key'));
  });
}

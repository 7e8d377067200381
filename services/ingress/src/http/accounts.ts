import { AccountBodySchema, LIST_LIMIT_DEFAULT, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { type OwnConfigParts, writtenBy } from './agents.ts';
import { accountAnswer, accountDraft, changeAnswer, keptSecrets } from './configuration.ts';
import { found, NoQuerySchema, PageQuerySchema, pageAnswer } from './pages.ts';
import { parseBody, parseQuery } from './requests.ts';

export const AccountSchemaWithName = AccountBodySchema.safeExtend({ name: NameSchema });

/** `/v1/accounts`: a tenant connects its agents to platforms and reads the connections. */
export function registerAccounts(app: FastifyInstance, { access, configs }: OwnConfigParts): void {
  const guard = { onRequest: access.requires('accounts:write') };
  app.post('/v1/accounts', guard, async (request, reply) => {
    const caller = access.callerOf(request);
    const { tenantId } = caller.tenant;
    parseQuery(NoQuerySchema, request.query);
    const body = parseBody(AccountSchemaWithName, request.body);
    const draft = accountDraft(body, await keptSecrets(configs, tenantId, body.name));
    const { row, change } = await configs.putAccount(tenantId, draft, writtenBy(caller));
    reply.code(change.result === 'created' ? 201 : 200);
    return { ...accountAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get('/v1/accounts', guard, async (request) => {
    const { limit = LIST_LIMIT_DEFAULT, cursor } = parseQuery(PageQuerySchema, request.query);
    const { tenantId } = access.callerOf(request).tenant;
    return pageAnswer(await configs.listAccounts(tenantId, { limit, cursor }), accountAnswer);
  });
  app.get<{ Params: { account: string } }>('/v1/accounts/:account', guard, async (request) => {
    parseQuery(NoQuerySchema, request.query);
    const row = await configs.getAccount(access.callerOf(request).tenant.tenantId, request.params.account);
    return accountAnswer(found(row, 'account_not_found', 'account'));
  });
}

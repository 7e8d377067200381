import type { AccountRow } from '@turnkeeper/core';
import { AccountBodySchema, AccountPatchSchema, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { ConfigDoor } from './config-door.ts';
import { accountAnswer, accountDraft, changeAnswer, keptSecrets } from './configuration.ts';
import { found, pageAnswer } from './pages.ts';
import { parseBody } from './requests.ts';
import { changingFrom, ifVersions, tag } from './versions.ts';

export const AccountSchemaWithName = AccountBodySchema.safeExtend({ name: NameSchema });

interface ByAccount {
  Params: { account: string };
}

/** `/v1/accounts` and `/admin/v1/accounts`: connections of agents to platforms; every change makes a version. */
export function registerAccounts(app: FastifyInstance, door: ConfigDoor): void {
  const { clock, configs, ids } = door;
  const guard = door.guard('accounts:write');
  const [list, one] = [`${door.prefix}/accounts`, `${door.prefix}/accounts/:account`];
  app.post(list, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const body = parseBody(AccountSchemaWithName, request.body);
    const draft = accountDraft(body, await keptSecrets(configs, tenantId, body.name));
    const { row, change } = await configs.putAccount(tenantId, draft, { actor, mustBeNew: true });
    reply.code(change.result === 'created' ? 201 : 200);
    tag(reply, row);
    return { ...accountAnswer(row), changes: [changeAnswer(change)] };
  });
  app.get(list, guard, async (request) => {
    const { tenantId, page } = await door.page(request);
    return pageAnswer(await configs.listAccounts(tenantId, page), accountAnswer);
  });
  app.get<ByAccount>(one, guard, async (request, reply) => {
    const { tenantId } = await door.asked(request);
    const row = found(await configs.getAccount(tenantId, request.params.account), 'account_not_found', 'account');
    tag(reply, row);
    return accountAnswer(row);
  });
  app.patch<ByAccount>(one, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const patch = parseBody(AccountPatchSchema, request.body);
    const read = async () =>
      found(await configs.getAccount(tenantId, request.params.account), 'account_not_found', 'account');
    const { row, change } = await changingFrom({ request, clock, ids }, read, (known, versions) => {
      const draft = accountDraft(patched(known, patch), known.secretNames);
      return configs.putAccount(tenantId, draft, { actor, ifVersions: versions });
    });
    tag(reply, row);
    return { ...accountAnswer(row), changes: [changeAnswer(change)] };
  });
  app.delete<ByAccount>(one, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const options = { actor, ifVersions: ifVersions(request) };
    found(await configs.deleteAccount(tenantId, request.params.account, options), 'account_not_found', 'account');
    return reply.code(204).send();
  });
}

function patched(known: AccountRow, { agent, options, secrets }: z.output<typeof AccountPatchSchema>) {
  const merged = { ...known.options, ...options };
  return {
    name: known.name,
    agent: agent ?? known.agentName,
    channel: known.channel,
    options: Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)),
    ...(secrets === undefined ? {} : { secrets }),
  };
}

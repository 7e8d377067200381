import { AppError, type Scope, scopesOf } from '@turnkeeper/core';
import { KeyPatchSchema, NewKeySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { Asked, ConfigDoor } from './config-door.ts';
import { changeAnswer, keyAnswer } from './configuration.ts';
import { found, pageAnswer } from './pages.ts';
import { parseBody } from './requests.ts';
import { ifVersions, tag } from './versions.ts';

interface ByKey {
  Params: { key: string };
}

/**
 * `/v1/keys` and `/admin/v1/keys`: POST shows the token, this once; DELETE revokes, within 5 s and also for open streams.
 * No key gives a scope that it does not have itself.
 */
export function registerKeys(app: FastifyInstance, door: ConfigDoor): void {
  const { keys } = door;
  const guard = door.guard('keys:write');
  const [list, one] = [`${door.prefix}/keys`, `${door.prefix}/keys/:key`];
  app.post(list, guard, async (request, reply) => {
    const asked = await door.asked(request);
    const { name, expiresAt, ...given } = parseBody(NewKeySchema, request.body);
    const draft = { name, ...grantOf(given, asked), expiresAt: expiresAt === undefined ? null : new Date(expiresAt) };
    const { row, change, token } = await keys.createKey(asked.tenantId, draft, asked);
    reply.code(201);
    tag(reply, row);
    return { ...keyAnswer(row, token), changes: [changeAnswer(change)] };
  });
  app.get(list, guard, async (request) => {
    const { tenantId, page } = await door.page(request);
    return pageAnswer(await keys.listKeys(tenantId, page), (row) => keyAnswer(row));
  });
  app.get<ByKey>(one, guard, async (request, reply) => {
    const { tenantId } = await door.asked(request);
    const row = found(await keys.getKey(tenantId, request.params.key), 'not_found', 'key');
    tag(reply, row);
    return keyAnswer(row);
  });
  app.patch<ByKey>(one, guard, async (request, reply) => {
    const asked = await door.asked(request);
    const { expiresAt, ...given } = parseBody(KeyPatchSchema, request.body);
    const hasGrant = given.preset !== undefined || given.scopes !== undefined;
    const change = {
      key: request.params.key,
      ...(hasGrant && { grant: grantOf(given, asked) }),
      ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
    };
    const options = { actor: asked.actor, ifVersions: ifVersions(request) };
    const written = found(await keys.changeKey(asked.tenantId, change, options), 'not_found', 'key');
    tag(reply, written.row);
    return { ...keyAnswer(written.row), changes: [changeAnswer(written.change)] };
  });
  app.delete<ByKey>(one, guard, async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const options = { actor, ifVersions: ifVersions(request) };
    found(await keys.changeKey(tenantId, { key: request.params.key, revoked: true }, options), 'not_found', 'key');
    return reply.code(204).send();
  });
}

interface Given {
  readonly preset?: Parameters<typeof scopesOf>[0] | undefined;
  readonly scopes?: readonly Scope[] | undefined;
}

/** @throws AppError `scope_missing`: who may make keys does not get more by making one */
function grantOf({ preset, scopes = [] }: Given, asked: Asked) {
  const granted = preset === undefined ? [...new Set(scopes)] : scopesOf(preset);
  const missing = granted.filter((scope) => asked.scopes !== null && !asked.scopes.includes(scope));
  if (missing.length === 0) return { scopes: granted, preset: preset ?? null };
  throw new AppError({ code: 'scope_missing', message: `your own key does not have ${missing.join(', ')}` });
}

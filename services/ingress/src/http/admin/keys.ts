import { KeyBodySchema, NameSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { changeAnswer, keyAnswer, keyDraft } from '../configuration.ts';
import { registerKeys } from '../keys.ts';
import { withName } from '../pages.ts';
import { parseBody } from '../requests.ts';
import { ifVersions, tag } from '../versions.ts';
import { type AdminParts, operatorDoor } from './admin-parts.ts';

const NamedKeySchema = KeyBodySchema.safeExtend({ name: NameSchema });

/** `/admin/v1/keys?tenant=`: as a tenant's own, and PUT, which may bring its own token. */
export function registerAdminKeys(app: FastifyInstance, parts: AdminParts): void {
  const door = operatorDoor(parts);
  registerKeys(app, door);
  app.put<{ Params: { key: string } }>('/admin/v1/keys/:key', async (request, reply) => {
    const { tenantId, actor } = await door.asked(request);
    const draft = keyDraft(parseBody(NamedKeySchema, withName(request.body, request.params.key)));
    const options = { actor, ifVersions: ifVersions(request) };
    const { row, change, token } = await parts.operator.putKey(tenantId, draft, options);
    reply.code(change.result === 'created' ? 201 : 200);
    tag(reply, row);
    return { ...keyAnswer(row, token), changes: [changeAnswer(change)] };
  });
}

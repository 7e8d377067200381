import { AppError, type EventId, parseId } from '@turnkeeper/core';
import { NoQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { answerOf } from '../messages.ts';
import { found } from '../pages.ts';
import { parseQuery } from '../requests.ts';
import { type AdminParts, actorOf } from './admin-parts.ts';

/** `POST /admin/v1/events/{id}/replay`: what was parked is accepted once more, behind what waits in its lane. */
export function registerReplays(app: FastifyInstance, parts: AdminParts): void {
  app.post<{ Params: { id: string } }>('/admin/v1/events/:id/replay', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const { parked: events, tenants, runs, acceptMessage } = parts;
    const id = parseId<EventId>(request.params.id, 'evt');
    const parked = found(id && (await events.find(id)), 'not_found', 'event');
    if (parked === 'not_parked') {
      throw new AppError({ code: 'cannot_change', message: 'Only an event that was parked can be replayed.' });
    }
    const tenant = found(await tenants.get(parked.tenantId), 'not_found', 'tenant');
    const acceptance = await acceptMessage.replay(parked, tenant);
    const { status, eventId } = acceptance;
    if (status === 'accepted') await events.noteReplay({ parked, eventId, actor: await actorOf(request, parts) });
    const first = status === 'duplicate' ? await runs.get(parked.tenantId, eventId) : null;
    return reply.code(202).send(answerOf(acceptance, first));
  });
}

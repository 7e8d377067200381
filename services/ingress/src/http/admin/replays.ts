import { AppError, type EventId, parseId } from '@turnkeeper/core';
import { NoQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { firstRun } from '../../intake/accept-and-join.ts';
import { answerOf } from '../messages.ts';
import { found } from '../pages.ts';
import { parseQuery } from '../requests.ts';
import { type AdminParts, actorOf } from './admin-parts.ts';

/** `POST /admin/v1/events/{id}/replay`: what was parked is accepted once more, behind what waits in its lane. */
export function registerReplays(app: FastifyInstance, parts: AdminParts): void {
  app.post<{ Params: { id: string } }>('/admin/v1/events/:id/replay', async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const { parked: events, tenants, acceptMessage } = parts;
    const id = parseId<EventId>(request.params.id, 'evt');
    const parked = found(id && (await events.find(id)), 'not_found', 'event');
    if (parked === 'not_parked') {
      throw new AppError({ code: 'cannot_change', message: 'Only an event that was parked can be replayed.' });
    }
    if (parked === 'erased') throw new AppError({ code: 'gone', message: 'What this event said has been erased.' });
    const tenant = found(await tenants.get(parked.tenantId), 'not_found', 'tenant');
    const acceptance = await acceptMessage.replay(parked, tenant);
    // also of a repetition: who accepted it first may have died before it was noted
    await events.noteReplay({ parked, eventId: acceptance.eventId, actor: await actorOf(request, parts) });
    const first = acceptance.status === 'duplicate' ? await firstRun(acceptance, parts) : null;
    return reply.code(202).send(answerOf(acceptance, first));
  });
}

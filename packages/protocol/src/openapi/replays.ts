import { NoQuerySchema } from '../http/fields.ts';
import { MessageAnswerSchema } from '../http/messages.ts';
import type { Operation } from './operation.ts';

/** What operators do to events that ended without a turn. */
export const REPLAYS: readonly Operation[] = [
  {
    method: 'post',
    path: '/admin/v1/events/{id}/replay',
    id: 'adminReplayEvent',
    summary: 'Accept a parked event once more, behind what waits in its conversation',
    door: 'operator',
    query: NoQuerySchema,
    answers: { 202: MessageAnswerSchema },
    errors: ['cannot_change', 'not_found', 'gone', 'lane_full', 'tenant_queue_full', 'overloaded', 'draining'],
  },
];

import { AccountSchema } from '../http/configuration.ts';
import { NoQuerySchema, ReferenceSchema } from '../http/fields.ts';
import { MessageAnswerSchema } from '../http/messages.ts';
import type { Operation } from './operation.ts';

/** What operators do to events that ended without a turn, and to accounts that their platforms paused. */
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
  {
    method: 'post',
    path: '/admin/v1/accounts/{account}/unpause',
    id: 'adminUnpauseAccount',
    summary: 'End the wait that the platform of an account asked for',
    door: 'operator',
    query: NoQuerySchema.extend({ tenant: ReferenceSchema }),
    answers: { 200: AccountSchema },
    errors: ['account_not_found'],
  },
];

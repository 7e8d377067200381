import {
  DeliveryListQuerySchema,
  DeliveryListSchema,
  DeliveryResolveSchema,
  DeliverySchema,
} from '../http/deliveries.ts';
import { NoQuerySchema } from '../http/fields.ts';
import type { Operation } from './operation.ts';

/** What became of each message on its way out, and what a person says of it. */
export const DELIVERIES: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/deliveries',
    id: 'listDeliveries',
    summary: 'List deliveries, newest first',
    door: 'runs:read',
    query: DeliveryListQuerySchema,
    answers: { 200: DeliveryListSchema },
    errors: ['agent_not_found', 'account_not_found', 'session_not_found', 'ambiguous', 'multiple_selectors'],
  },
  {
    method: 'get',
    path: '/v1/deliveries/{id}',
    id: 'getDelivery',
    summary: 'Read a delivery and its text',
    door: 'runs:read',
    query: NoQuerySchema,
    answers: { 200: DeliverySchema },
    errors: ['not_found'],
  },
  {
    method: 'post',
    path: '/v1/deliveries/{id}/retry',
    id: 'retryDelivery',
    summary: 'Send a delivery again, marked when it may have arrived',
    door: 'deliveries:write',
    query: NoQuerySchema,
    answers: { 200: DeliverySchema },
    errors: ['not_found', 'lane_busy', 'cannot_change', 'gone'],
  },
  {
    method: 'post',
    path: '/v1/deliveries/{id}/resolve',
    id: 'resolveDelivery',
    summary: 'Say that a delivery arrived, or give it up',
    door: 'deliveries:write',
    query: NoQuerySchema,
    body: DeliveryResolveSchema,
    answers: { 200: DeliverySchema },
    errors: ['not_found', 'lane_busy', 'cannot_change'],
  },
];

import { NoQuerySchema } from '../http/fields.ts';
import { LimitsAnswerSchema } from '../http/limits.ts';
import { UsageListSchema, UsageQuerySchema } from '../http/usage.ts';
import type { Operation } from './operation.ts';

/** What a tenant may have, and what it used. */
export const USAGE: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/limits',
    id: 'getLimits',
    summary: 'Read the limits of the tenant, and what it has of them',
    door: 'usage:read',
    query: NoQuerySchema,
    answers: { 200: LimitsAnswerSchema },
  },
  {
    method: 'get',
    path: '/v1/usage',
    id: 'listUsage',
    summary: 'What the tenant used, by day and agent, newest day first',
    door: 'usage:read',
    query: UsageQuerySchema,
    answers: { 200: UsageListSchema },
    errors: ['agent_not_found'],
  },
];

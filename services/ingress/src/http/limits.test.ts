import { LimitsAnswerSchema } from '@turnkeeper/protocol';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import type { Caller } from './access.ts';
import { registerLimits } from './limits.ts';

it('tells a tenant its limits and what it has of them', async () => {
  const app = fastify();
  const limits = { ratePerSecond: null, burst: null, turnSlots: 7, queuedPerLane: 100, queuedPerTenant: 10_000 };
  const asked: string[] = [];
  registerLimits(app, {
    access: {
      requires: (scope) => async () => {
        asked.push(scope);
      },
      callerOf: () => ({ kind: 'key', tenant: { tenantId: 'a', limits } }) as unknown as Caller,
    },
    queued: { of: (tenantId) => (String(tenantId) === 'a' ? 3 : 0) },
  });
  const { statusCode, body } = await app.inject({ url: '/v1/limits' });
  expect(statusCode).toBe(200);
  expect(LimitsAnswerSchema.parse(JSON.parse(body))).toEqual({ limits, use: { queuedPerTenant: 3 } });
  expect(asked).toEqual(['usage:read']);
});

import { AppError } from '@turnkeeper/core';
import Fastify from 'fastify';
import { expect, it, vi } from 'vitest';
import { registerSearch, type SearchParts } from './search.ts';

it('counts a page of search against the rate of the tenant before the store is asked', async () => {
  const search = vi.fn(async () => ({ rows: [], nextCursor: null }));
  const take = vi.fn(async () => undefined);
  const tenant = { tenantId: 'acme' };
  const parts = {
    access: { requires: () => async () => undefined, callerOf: () => ({ tenant }) },
    targets: { agent: vi.fn() },
    sessions: {},
    rates: { take },
    search: { search },
  };
  const app = Fastify();
  // only what a search without filters asks for
  registerSearch(app, parts as unknown as SearchParts);
  expect((await app.inject('/v1/search?q=a')).statusCode).toBe(200);
  expect(take).toHaveBeenCalledWith(tenant, expect.anything());
  take.mockRejectedValueOnce(new AppError({ code: 'rate_limited', message: 'too many' }));
  expect((await app.inject('/v1/search?q=a')).json()).toMatchObject({ code: 'rate_limited' });
  expect(search).toHaveBeenCalledTimes(1);
});

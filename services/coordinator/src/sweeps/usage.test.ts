import type { TenantId, UsageCounting } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { usage } from './usage.ts';

test('tenants are counted in turn until all are, beside one that always fails', async () => {
  const steps = new Map([
    ['bad', 1],
    ['big', 3],
    ['small', 1],
  ] as [TenantId, number][]);
  const taken: TenantId[] = [];
  const counting: UsageCounting = {
    due: async () => [...steps.keys()],
    count: async (tenantId) => {
      taken.push(tenantId);
      const left = (steps.get(tenantId) ?? 0) - 1;
      if (tenantId === 'bad') throw new Error('too much');
      if (left > 0) steps.set(tenantId, left);
      else steps.delete(tenantId);
      return true;
    },
  };
  await expect(usage({ counting }).run(new AbortController().signal)).rejects.toThrow('too much');
  expect(taken).toEqual(['bad', 'big', 'small', 'big', 'big']);
});

test('a tenant that another leader counts is not waited for', async () => {
  const counting: UsageCounting = { due: async () => ['busy' as TenantId], count: async () => false };
  expect(await usage({ counting }).run(new AbortController().signal)).toEqual({});
});

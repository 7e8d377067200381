import { expect, inject, test, vi } from 'vitest';
import { RedisTenantSlots } from './tenant-slots.ts';
import { newBootId, newTenantId, openTestLink } from './testing.ts';

const url = inject('urls').redis;

test('each worker sees what all others use, as they last told it', async () => {
  const slots = new RedisTenantSlots({ link: await openTestLink(url) });
  const [a, b, c] = [newBootId(), newBootId(), newBootId()];
  const [acme, blue] = [newTenantId(), newTenantId()];

  await slots.exchange(a, new Map([[acme, 3]]));
  await slots.exchange(b, new Map([[acme, 4], [blue, 1]])); // biome-ignore format: pairs
  expect(await slots.exchange(c, new Map())).toEqual(new Map([[acme, 7], [blue, 1]])); // biome-ignore format: pairs

  await slots.exchange(b, new Map([[acme, 1]]));
  expect(await slots.exchange(a, new Map([[acme, 2]]))).toEqual(new Map([[acme, 1]]));
  expect(await slots.exchange(c, new Map())).toEqual(new Map([[acme, 3]]));
});

test('what a silent worker used is free again', async () => {
  const slots = new RedisTenantSlots({ link: await openTestLink(url), silentMs: 300 });
  const [killed, me] = [newBootId(), newBootId()];
  const acme = newTenantId();
  await slots.exchange(killed, new Map([[acme, 5]]));
  expect(await slots.exchange(me, new Map([[acme, 1]]))).toEqual(new Map([[acme, 5]]));

  await vi.waitFor(async () => expect(await slots.exchange(me, new Map([[acme, 1]]))).toEqual(new Map()), {
    timeout: 5000,
  });
});

test('after Redis lost everything the next exchange of each worker makes it right', async () => {
  const link = await openTestLink(url);
  const slots = new RedisTenantSlots({ link });
  const [a, b] = [newBootId(), newBootId()];
  const acme = newTenantId();
  await slots.exchange(a, new Map([[acme, 5]]));
  await slots.exchange(b, new Map([[acme, 2]]));

  await link.client.del(await link.client.keys(`{${link.keyPrefix}:slots}*`));

  await slots.exchange(a, new Map([[acme, 4]]));
  expect(await slots.exchange(b, new Map([[acme, 2]]))).toEqual(new Map([[acme, 4]]));
  expect(await slots.exchange(a, new Map([[acme, 4]]))).toEqual(new Map([[acme, 2]]));
});

test('a tenant without turns is nowhere in Redis', async () => {
  const link = await openTestLink(url);
  const slots = new RedisTenantSlots({ link });
  const a = newBootId();
  await slots.exchange(a, new Map([[newTenantId(), 5]]));
  await slots.exchange(a, new Map([[newTenantId(), 0]]));
  expect(await link.client.keys(`{${link.keyPrefix}:slots}*`)).toEqual([`{${link.keyPrefix}:slots}:beats`]);
});

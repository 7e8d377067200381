import type { TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { type FreshDatabase, freshDatabase } from './testing/index.ts';
import { freshId } from './testing/stage.ts';
import { TicketStore } from './ticket-store.ts';

let fresh: FreshDatabase;
let database: Database;

beforeAll(async () => {
  fresh = await freshDatabase(inject('urls'));
  database = openDatabase({ url: fresh.url, role: 'tk_api', poolMax: 4, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

const inMs = (ms: number) => new Date(Date.now() + ms);

test('a ticket is used once, however many nodes try at the same moment', async () => {
  const [tenant, ticket] = [freshId<TenantId>(), { id: freshId(), expiresAt: inMs(60_000) }];
  const tries = Array.from({ length: 8 }, () => new TicketStore(database).use(tenant, ticket));
  expect((await Promise.all(tries)).filter((used) => used)).toHaveLength(1);
  expect(await new TicketStore(database).use(tenant, ticket)).toBe(false);
});

test('another tenant’s ticket of the same id is another', async () => {
  const ticket = { id: freshId(), expiresAt: inMs(60_000) };
  expect(await new TicketStore(database).use(freshId<TenantId>(), ticket)).toBe(true);
  expect(await new TicketStore(database).use(freshId<TenantId>(), ticket)).toBe(true);
});

test('what has expired goes with the next use', async () => {
  const [tenant, store] = [freshId<TenantId>(), new TicketStore(database)];
  const old = { id: freshId(), expiresAt: inMs(-120_000) };
  await store.use(tenant, old);
  await store.use(tenant, { id: freshId(), expiresAt: inMs(60_000) });
  expect(await store.use(tenant, old)).toBe(true);
});

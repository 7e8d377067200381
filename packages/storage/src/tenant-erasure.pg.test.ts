import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase } from './database.ts';
import { PostgresTenantErasure } from './tenant-erasure.ts';
import { type ConfigStage, echoAgent, hookAccount, keyDraft, openConfigStage } from './testing/config-stage.ts';

let stage: ConfigStage;
beforeAll(async () => {
  stage = await openConfigStage(inject('urls'));
});
afterAll(() => stage.close());

const ACTOR = 'operator:test';
const WITH_TENANT = {
  name: 'tables_with_tenant',
  text: `select c.relname as name,
      has_table_privilege('tk_sweep', c.oid, 'delete') as may_delete,
      exists (select 1 from pg_policies p where p.schemaname = 'tk' and p.tablename = c.relname and p.policyname = 'sweep') as sees
    from pg_class c join pg_namespace s on s.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where s.nspname = 'tk' and c.relkind = 'r' and a.attname = 'tenant_id' and not a.attisdropped`,
};

const tablesWithTenant = () =>
  stage.databases.admin.query<{ name: string; may_delete: boolean; sees: boolean }>(WITH_TENANT, []);

test('the sweep may empty every table that has a tenant: grant delete and make a policy `sweep` for a new one', async () => {
  const tables = await tablesWithTenant();
  expect(tables.length).toBeGreaterThan(15);
  expect(tables.filter(({ may_delete, sees }) => !may_delete || !sees)).toEqual([]);
});

test('a deleted tenant leaves its receipt and nothing else; others keep everything', async () => {
  const parts = { keys: [keyDraft('k')], agents: [echoAgent('main')], accounts: [hookAccount('a')] };
  const [gone, stays] = [await stage.tenant('gone', parts), await stage.tenant('stays', parts)];
  const database = openDatabase({ url: stage.fresh.url, role: 'tk_sweep', poolMax: 2, applicationName: 'test' });
  const asked = await stage.operator.deleteTenant('gone', { actor: ACTOR });
  expect(asked).toMatchObject({ tenantId: gone, name: 'gone', requestedBy: ACTOR, finishedAt: null });
  expect(await stage.operator.deleteTenant('gone', { actor: 'operator:late' })).toEqual(asked);
  await expect(stage.tenant('gone')).rejects.toMatchObject({ code: 'cannot_change' });

  expect(await new PostgresTenantErasure(database, 60_000).step(10)).toBeNull();
  const erasure = new PostgresTenantErasure(database, 0);
  let steps = 0;
  for (let step = await erasure.step(1); step !== null; step = await erasure.step(1)) {
    expect(step.tenantId).toBe(gone);
    steps++;
  }
  expect(steps).toBeGreaterThan(6);
  const receipt = await stage.operator.getReceipt('gone');
  expect(receipt).toMatchObject({ rows: { api_keys: 1, agents: 1, agent_versions: 1, accounts: 1, tenants: 1 } });
  expect(receipt?.finishedAt).toBeInstanceOf(Date);
  expect(await stage.operator.getTenant('gone')).toBeNull();
  for (const { name } of await tablesWithTenant()) {
    const statement = { name: `left_${name}`, text: `select count(*)::int as n from tk.${name} where tenant_id = $1` };
    expect([name, await stage.databases.admin.query(statement, [gone])]).toEqual([name, [{ n: 0 }]]);
  }
  expect(await stage.own.getAgent(stays, 'main')).not.toBeNull();
  expect((await stage.operator.getTenant('stays'))?.status).toBe('active');
  await stage.tenant('gone', parts);
  await database.close();
});

/** What the leader repairs and measures besides lost turns; one scene after another, for the sake of leases on real time. */
import { type AccountId, formatId } from '@turnkeeper/core';
import { systemIds as ids } from '@turnkeeper/platform/process';
import { until } from '@turnkeeper/test-harness';
import { expect, test } from 'vitest';
import { listen, metric, openScene, startWorker } from './coordinator-scene.ts';

test('a send of a lost worker becomes unknown and is owed one resend, marked as such, which its lane is woken for', async (context) => {
  const { stage, prefix, startCoordinator } = await openScene(context);
  const worker = await startWorker(stage, context);
  const { lane, turn } = worker;
  const told = await listen({ prefix, partition: (await stage.ownership.slotMap())[lane.slot] ?? 0 }, context);
  const owed = { kind: 'send', accountId: ids.next() as AccountId, sendNow: true } as const;
  expect(await stage.commit(worker.bootId, turn, { owed })).toMatchObject({ delivery: 'sending' });
  const coordinator = await startCoordinator('coordinator-1');

  await worker.kill();

  const delivery = async () => {
    const rows = await stage.rows('select dstate, drecovered from tk.messages where lane_id = $1', [lane.laneId]);
    return rows[0];
  };
  await until('the resend is owed', async () => (await delivery())?.['drecovered'] === true);
  expect(await delivery()).toEqual({ dstate: 0, drecovered: true });
  await until('the lane is woken', () => told.woken.some((wakeUp) => wakeUp.lane.laneId === lane.laneId));
  expect(await metric(coordinator, 'sweep_repairs_total{sweep="deliveries",kind="resent"}')).toBe(1);
});

test('what tenants have in the queue is measured: for every ingress, and for the leader alone to tell', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const tenantId = await stage.tenant('busy');
  for (const text of ['a', 'b', 'c']) await stage.send(stage.lane(tenantId, 'k'), text);
  const leader = await startCoordinator('coordinator-1');
  const tenant = formatId('ten', tenantId);

  await until('it is measured', async () => (await metric(leader, `tenant_events_queued{tenant="${tenant}"}`)) === 3);
  expect((await stage.intake.queuedPerTenant()).get(tenantId)?.queued).toBe(3);
  await until('the sum is told', async () => (await metric(leader, 'events_queued')) === 3);

  const standby = await startCoordinator('coordinator-2');
  expect(await metric(standby, `tenant_events_queued{tenant="${tenant}"}`)).toBe(0);
  leader.signal('SIGTERM');
  await leader.exited;
  await until(
    'the standby tells it',
    async () => (await metric(standby, `tenant_events_queued{tenant="${tenant}"}`)) === 3,
  );
});

test('rows past retention are deleted, what is recent stays', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const worker = await startWorker(stage, context);
  await stage.commit(worker.bootId, worker.turn);
  const old = stage.lane(await stage.tenant('old'), 'k');
  await stage.send(old, 'long ago');
  await stage.commit(worker.bootId, await stage.claim(worker.bootId, old));
  await stage.rows("update tk.dedupe_keys set at = now() - interval '9 days' where lane_id = $1", [old.laneId]);

  await startCoordinator('coordinator-1');

  const keysOf = (laneId: string) => stage.rows('select 1 from tk.dedupe_keys where lane_id = $1', [laneId]);
  await until('the old key is gone', async () => (await keysOf(old.laneId)).length === 0);
  expect(await keysOf(worker.lane.laneId)).toHaveLength(1);
});

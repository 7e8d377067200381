import type { ClusterLoad } from '@turnkeeper/core';
import { createMetrics } from '@turnkeeper/platform/telemetry';
import { expect, test } from 'vitest';
import { tenantLoad } from './tenant-load.ts';

test('the leader tells what the whole cluster owes, and none of it once it leads no more', async () => {
  const metrics = createMetrics({ service: 'coordinator', version: '0' });
  const cluster: ClusterLoad = {
    eventsQueued: 4,
    deliveriesUnknown: 3,
    lanesSuspended: 2,
    turnsWaiting: 5,
    deliveryOldestMs: 1500,
  };
  const repair = { measureLoad: () => Promise.resolve([]), measureCluster: () => Promise.resolve(cluster) };
  const sweep = tenantLoad({ metrics, repair });
  await sweep.run(new AbortController().signal);
  const told = await metrics.text();
  for (const line of [
    'turnkeeper_events_queued 4',
    'turnkeeper_deliveries_unknown 3',
    'turnkeeper_lanes_suspended 2',
    'turnkeeper_turns_waiting_input 5',
    'turnkeeper_delivery_pending_oldest_seconds 1.5',
  ]) {
    expect(told).toContain(line);
  }
  sweep.end?.();
  expect(await metrics.text()).toContain('turnkeeper_lanes_suspended 0');
});

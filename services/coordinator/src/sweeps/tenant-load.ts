import { formatId, type RepairStore } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import type { Sweep } from './sweep.ts';

export interface TenantLoadOptions {
  readonly repair: Pick<RepairStore, 'measureLoad' | 'measureCluster'>;
  readonly metrics: Pick<Metrics, 'gauge'>;
}

/** Series per metric: the busiest tenants only. */
const TENANTS_MAX = 50;

/** Counts what each tenant has in the queue: for the caps that every ingress keeps, and for what only the leader tells. */
export function tenantLoad({ metrics, repair }: TenantLoadOptions): Sweep {
  const queued = metrics.gauge('tenant_events_queued');
  const running = metrics.gauge('tenant_turns_running');
  const oldest = metrics.gauge('tenant_oldest_ready_seconds');
  const quota = metrics.gauge('tenant_quota_used_ratio');
  const clear = () => {
    for (const gauge of [queued, running, oldest, quota]) gauge.clear();
  };
  const clusterQueued = metrics.gauge('events_queued');
  const unknown = metrics.gauge('deliveries_unknown');
  const suspended = metrics.gauge('lanes_suspended');
  const waiting = metrics.gauge('turns_waiting_input');
  const oldestOwed = metrics.gauge('delivery_pending_oldest_seconds');
  return {
    name: 'tenant-load',
    deadlineMs: 10_000,
    run: async () => {
      const loads = await repair.measureLoad(TENANTS_MAX);
      clear();
      for (const load of loads) {
        const labels = { tenant: formatId('ten', load.tenantId) };
        queued.set(load.queued, labels);
        running.set(load.turnsRunning, labels);
        oldest.set((load.oldestReadyMs ?? 0) / 1000, labels);
        quota.set(load.quotaUsedRatio, labels);
      }
      const cluster = await repair.measureCluster();
      clusterQueued.set(cluster.eventsQueued);
      unknown.set(cluster.deliveriesUnknown);
      suspended.set(cluster.lanesSuspended);
      waiting.set(cluster.turnsWaiting);
      oldestOwed.set((cluster.deliveryOldestMs ?? 0) / 1000);
      return {};
    },
    end: () => {
      clear();
      for (const gauge of [clusterQueued, unknown, suspended, waiting, oldestOwed]) gauge.clear();
    },
  };
}

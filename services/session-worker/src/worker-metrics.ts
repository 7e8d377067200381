import type { ReplyDeliverer, Scheduler, Turns } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import type { Membership } from './loops/membership.ts';

export type WorkerMetrics = ReturnType<typeof workerMetrics>;

/** The counters and histograms that the parts of a worker are given. */
export function workerMetrics(metrics: Metrics) {
  const staleFences = metrics.counter('stale_fence_total');
  return {
    batches: {
      claimBatchSize: metrics.histogram('claim_batch_size'),
      commitBatchSize: metrics.histogram('commit_batch_size'),
      commitSeconds: metrics.histogram('commit_duration_seconds'),
    },
    lanes: {
      staleFences,
      eventsSettled: metrics.counter('events_settled_total'),
      turnsTotal: metrics.counter('turns_total'),
      loopStops: metrics.counter('loop_stops_total'),
      commitsRefused: metrics.counter('commits_refused_total'),
      turnStartSeconds: metrics.histogram('turn_start_delay_seconds'),
      turnSeconds: metrics.histogram('turn_duration_seconds'),
      activations: metrics.counter('activations_total'),
    },
    deliveries: {
      staleFences,
      attempts: metrics.counter('delivery_attempts_total'),
      deliveries: metrics.counter('deliveries_total'),
      delaySeconds: metrics.histogram('delivery_delay_seconds'),
    },
    agents: {
      staleFences,
      toolCalls: metrics.counter('tool_calls_total'),
      toolCallSeconds: metrics.histogram('tool_call_duration_seconds'),
    },
    firstTextSeconds: metrics.histogram('turn_time_to_first_token_seconds'),
    webhooksOut: metrics.counter('webhooks_out_total'),
    staleFences,
  };
}

/** What is only known by looking: set before each scrape. */
export function watchWorker(
  metrics: Metrics,
  parts: {
    readonly scheduler: Scheduler;
    readonly turns: Turns;
    readonly membership: Membership;
    readonly turnSlots: number;
    readonly deliverer: Pick<ReplyDeliverer, 'pausedMs'>;
  },
): void {
  const { scheduler, turns, membership, deliverer } = parts;
  metrics.gauge('turn_slots').set(parts.turnSlots);
  const [ready, oldest] = [metrics.gauge('lanes_ready'), metrics.gauge('lane_ready_oldest_seconds')];
  const [slotsUsed, running] = [metrics.gauge('turn_slots_used'), metrics.gauge('turns_running')];
  const [owned, pause] = [metrics.gauge('partitions_owned'), metrics.gauge('platform_pause_seconds')];
  const shown = new Set<number>();
  metrics.onScrape(() => {
    const now = scheduler.snapshot(({ slot }) => membership.partitionOf(slot));
    ready.set(now.ready);
    for (const partition of membership.owned) shown.add(partition);
    for (const partition of shown) {
      oldest.set((now.oldestReadyMs.get(partition) ?? 0) / 1000, { partition: String(partition) });
    }
    slotsUsed.set(scheduler.slotsUsed);
    running.set(turns.running);
    owned.set(membership.owned.length);
    pause.set(deliverer.pausedMs / 1000);
  });
}

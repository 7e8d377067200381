import { connectBus, NatsControlSignals, NatsLiveStream, PartitionHints } from '@turnkeeper/bus';
import { combineWakeUps, DatabaseHealth, Leadership } from '@turnkeeper/core';
import { createProbeServer, type Kit, type Service } from '@turnkeeper/platform/process';
import { storeGauges } from '@turnkeeper/platform/telemetry';
import { openRedis, QueuedWakeUps } from '@turnkeeper/queue';
import {
  PostgresInputStore,
  PostgresInvariants,
  PostgresLaneRetention,
  PostgresOwnershipStore,
  PostgresRepairStore,
  PostgresSessionAging,
  PostgresTenantErasure,
  PostgresUsageCounting,
} from '@turnkeeper/storage';
import { breakerOf, type CoordinatorConfig } from './config.ts';
import { CoordinatorService } from './coordinator-service.ts';
import { Databases } from './databases.ts';
import { LeaderLoop } from './leader/leader-loop.ts';
import { allSweeps } from './sweeps/all-sweeps.ts';
import { runSweeps } from './sweeps/run-sweeps.ts';

/** Of every process, and of the leader's lease. */
const LEASE_MS = 3000;
/** A term ends this long before another coordinator could lead. */
const LEASE_MARGIN_MS = 500;
/** With a heartbeat every 0.5 s whoever lives has renewed within a lease, also across a gap of this length. */
const HEALTH_LIMITS = { leaseMs: LEASE_MS, gapMs: 1500, jumpMs: 1000 };

/** Builds a coordinator, leader or standby: pools → stores → Redis and NATS → sweeps → leader. Never on a message's path. */
export async function compose(config: CoordinatorConfig, kit: Kit): Promise<Service> {
  const { bootId, clock, ids, logger, metrics } = kit;
  const databases = new Databases({ url: config.postgresUrl, logger, metrics });
  const lease = new PostgresRepairStore(databases.lease);
  const ownership = new PostgresOwnershipStore(databases.lease);

  const link = { prefix: config.prefix, keyPrefix: config.prefix, clock, ids, logger };
  const [redis, bus] = await Promise.all([
    openRedis({ ...link, url: config.redisUrl }),
    connectBus({ ...link, url: config.natsUrl, name: `coordinator ${kit.nodeName}` }),
  ]);
  const [redisIsUp, natsIsUp] = [storeGauges(metrics, 'redis'), storeGauges(metrics, 'nats')];
  redisIsUp(!redis.away);
  redis.onChange((away) => redisIsUp(!away));
  natsIsUp(bus.connected);
  bus.onChange(natsIsUp);

  const outcomes = metrics.counter('activations_total');
  const jobs = new QueuedWakeUps({ link: redis, clock, outcomes, tracer: kit.tracer });
  const health = new DatabaseHealth(clock, HEALTH_LIMITS);
  const groups = allSweeps({
    repair: new PostgresRepairStore(databases.sweeps),
    invariants: new PostgresInvariants(databases.invariants),
    inputs: new PostgresInputStore(databases.sweeps),
    aging: new PostgresSessionAging(databases.sweeps),
    lanes: new PostgresLaneRetention(databases.sweeps),
    erasure: new PostgresTenantErasure(databases.sweeps),
    counting: new PostgresUsageCounting(databases.sweeps),
    ownership: new PostgresOwnershipStore(databases.sweeps),
    health,
    signals: new NatsControlSignals(bus),
    live: new NatsLiveStream({ link: bus, clock, dropped: metrics.counter('stream_deltas_dropped_total') }),
    wakeUps: combineWakeUps(new PartitionHints({ link: bus, outcomes }), jobs),
    ...{ leaseMs: LEASE_MS, settledDays: config.settledDays, dedupeDays: config.dedupeDays },
    ...{ clock, logger, tracer: kit.tracer, metrics, breaker: breakerOf(config) },
  });
  const leader = new LeaderLoop({
    bootId,
    leaseMs: LEASE_MS,
    ownership,
    repair: lease,
    health,
    leadership: new Leadership(clock, { leaseMs: LEASE_MS, marginMs: LEASE_MARGIN_MS }),
    postgresIsUp: storeGauges(metrics, 'postgres'),
    clock,
    logger,
    onTerm: (term) => runSweeps({ groups, clock, logger, tracer: kit.tracer, metrics }, term),
    onDead: kit.fail,
  });
  watchVitals(kit, leader, { databases, redis, nats: bus });
  return new CoordinatorService({
    bootId,
    nodeName: kit.nodeName,
    version: kit.version,
    databases,
    ownership,
    leader,
    probes: createProbeServer(kit),
    listenAt: { host: config.internalHost, port: config.internalPort },
    closing: [jobs, redis, bus],
    clock,
    ids,
    logger,
  });
}

/** What must go on in a coordinator, else it takes itself out. */
function watchVitals(
  { vitals, readiness }: Kit,
  leader: LeaderLoop,
  links: Readonly<Record<string, { readonly isOver: boolean }>>,
): void {
  vitals.watchLinks(links);
  vitals.watchProgress('leader lease', () => ({ isDue: true, steps: leader.looks }));
  readiness.unless(() => (leader.isFailing ? 'store_unavailable' : null));
}

import { totalmem } from 'node:os';
import {
  connectBus,
  LaneWatchers,
  NatsControlSignals,
  NatsLiveStream,
  NatsSnapshots,
  PartitionHints,
} from '@turnkeeper/bus';
import * as core from '@turnkeeper/core';
import { clusterPorts, createEgress } from '@turnkeeper/platform/egress';
import { createHeapKeeper, createProbeServer, type Kit, type Service } from '@turnkeeper/platform/process';
import { storeGauges } from '@turnkeeper/platform/telemetry';
import * as queue from '@turnkeeper/queue';
import * as storage from '@turnkeeper/storage';
import type { SessionWorkerConfig } from './config.ts';
import { Databases } from './databases.ts';
import { buildLanes } from './lanes.ts';
import { Activations } from './loops/activations.ts';
import { Membership } from './loops/membership.ts';
import { workerLoops } from './loops/worker-loops.ts';
import { watchWork } from './vital-signs.ts';
import { watchWorker, workerMetrics } from './worker-metrics.ts';
import { WorkerService } from './worker-service.ts';

const LEASE = { leaseMs: 3000, marginMs: 500 };
const SLICE = { turns: 4, ms: 2000 };
const DEFER_MS = 1000;
/** Well under the time to live of a lock, and long enough for the next message of a busy conversation. */
const LINGER_MS = 1000;

/** Builds a session-worker: pools → stores → Redis → NATS → scheduler → agents → lanes, deliveries → loops. */
export async function compose(config: SessionWorkerConfig, kit: Kit): Promise<Service> {
  const { bootId, clock, logger } = kit;
  const counts = workerMetrics(kit.metrics);
  const stores = openStores(config, kit);
  const links = await openLinks(config, kit, (slot) => membership.partitionOf(slot));
  const lease = new core.Lease(clock, LEASE);
  const caps = new core.TenantCaps({
    turnSlotsOf: async (tenantId) => turnSlotsOf(await stores.tenants.get(tenantId)),
    onKnown: () => scheduler.capsChanged(),
    clock,
    log: logger,
  });
  const scheduler: core.Scheduler = new core.Scheduler({
    ...{
      clock,
      slice: SLICE,
      deferMs: DEFER_MS,
      lingerMs: LINGER_MS,
      slotsMax: config.turnSlots,
      lanesMax: config.lanesMax,
    },
    capOf: (tenantId) => caps.capOf(tenantId),
  });
  const { ownership, databases } = stores;
  const parts = { ...kit, ...stores, ...links, config, counts, scheduler, lease, membership: () => membership };
  const { runner, turns, deliverer, transcripts, batches } = buildLanes(parts);
  const activations = new Activations({
    ...{ hints: links.hints, jobs: links.consumers, store: stores.lanes, scheduler, runner, scanMax: config.lanesMax },
    onOpen: () => deliverer.lookNow(),
    onNudge: (lane) => deliverer.due(lane),
  });
  const membership: Membership = new Membership({
    ...{ bootId, ownership, lease, clock, logger, consumers: activations },
    giveAway: (partition) => runner.giveAway(({ slot }) => membership.partitionOf(slot) === partition),
    onDead: (error) => {
      void runner.stop();
      void deliverer.stop();
      kit.fail(error);
    },
  });
  const keeper = new core.TurnKeeper({
    ...{ bootId, store: stores.lanes, locks: links.locks, turns, scheduler, wakeUps: links.wakeUps, log: logger },
    partitionOf: (slot) => membership.partitionOf(slot),
    staleFences: counts.staleFences,
  });
  watchWork(kit, { scheduler, batches, lease });
  kit.vitals.watchLinks({ databases, redis: links.redis, 'redis consumers': links.consumers, nats: links.bus });
  watchWorker(kit.metrics, { scheduler, turns, membership, deliverer, turnSlots: config.turnSlots });
  return new WorkerService({
    ...{ ...kit, ...links, databases, ownership, membership, scheduler, turns, runner, deliverer },
    turnSlots: config.turnSlots,
    warmUp: () => Promise.all([stores.lanes.warmUp(), stores.deliveries.warmUp()]),
    loops: workerLoops({
      ...{ bootId, membership, activations, keeper, turns, scheduler, runner, caps, slots: links.slots, transcripts },
      vital: (loop) => kit.vitals.watchLoop(loop),
      memoryIsShort: memoryIsShort(config),
      keepHeap: createHeapKeeper(),
      redisIsAway: () => links.redis.away,
      postgresIsUp: storeGauges(kit.metrics, 'postgres'),
    }),
    probes: createProbeServer(kit),
    listenAt: { host: config.internalHost, port: config.internalPort },
    closing: [links.consumers, links.jobs, links.redis, links.bus, links.egress],
  });
}

function openStores(config: SessionWorkerConfig, { clock, logger, metrics }: Kit) {
  const databases = new Databases({ ...config, url: config.postgresUrl, logger, metrics });
  const sealing = new storage.Sealing(storage.serverKeyWrap(config.masterKey));
  return {
    ...storage.openConfigs({ database: databases.lookup, sealing, clock }),
    databases,
    lanes: new storage.PostgresLaneStore(databases.engine),
    deliveries: new storage.PostgresDeliveryStore(databases.engine),
    attachments: new storage.PostgresAttachmentStore(databases.files),
    inputs: new storage.PostgresInputStore(databases.engine),
    transcripts: new storage.PostgresTranscriptStore(databases.engine),
    ownership: new storage.PostgresOwnershipStore(databases.lease),
  };
}

async function openLinks(config: SessionWorkerConfig, kit: Kit, partitionOf: (slot: number) => number) {
  const { clock, ids, logger, metrics, tracer } = kit;
  const link = { prefix: config.prefix, keyPrefix: config.prefix, clock, ids, logger };
  const [redis, bus] = await Promise.all([
    queue.openRedis({ ...link, url: config.redisUrl }),
    connectBus({ ...link, url: config.natsUrl, name: `session-worker ${kit.nodeName}` }),
  ]);
  const [redisIsUp, natsIsUp] = [storeGauges(metrics, 'redis'), storeGauges(metrics, 'nats')];
  redisIsUp(!redis.away);
  redis.onChange((away) => redisIsUp(!away));
  natsIsUp(bus.connected);
  bus.onChange(natsIsUp);
  const outcomes = metrics.counter('activations_total');
  const dropped = metrics.counter('stream_deltas_dropped_total');
  const jobs = new queue.QueuedWakeUps({ link: redis, clock, outcomes, tracer });
  const hints = new PartitionHints({ link: bus, outcomes });
  return {
    ...{ redis, bus, jobs, hints, wakeUps: core.combineWakeUps(hints, jobs) },
    consumers: new queue.ActivationConsumers({ url: config.redisUrl, link: redis, clock, ids, outcomes, tracer }),
    locks: new queue.RedisLaneLocks({ link: redis, partitionOf }),
    slots: new queue.RedisTenantSlots({ link: redis }),
    signals: new NatsControlSignals(bus),
    snapshots: new NatsSnapshots(bus),
    live: new NatsLiveStream({ link: bus, clock, dropped, watchers: new LaneWatchers({ link: bus, clock }) }),
    egress: createEgress({
      allow: config.egressAllow,
      clusterPorts: clusterPorts({ ...config, storeUrls: [config.postgresUrl, config.redisUrl, config.natsUrl] }),
      connectionsPerTenantMax: config.egressConnectionsMax,
      metrics,
    }),
  };
}

/** `constrainedMemory`: of the container; where there is none Node says 0, or more than any machine has. */
function memoryIsShort({ memoryHigh }: SessionWorkerConfig): () => boolean {
  const limit = process.constrainedMemory();
  const budgetMb = core.memoryBudgetMb(memoryHigh, limit > 0 && limit < totalmem() ? limit : null);
  return () => budgetMb !== null && process.memoryUsage.rss() > budgetMb * 1024 * 1024;
}

/** Of a suspended tenant no turn starts; those that run end as they would. */
function turnSlotsOf(tenant: core.TenantConfig | null): number | null {
  if (tenant === null) return null;
  return tenant.status === 'active' ? tenant.limits.turnSlots : 0;
}

import {
  connectBus,
  LaneWatchers,
  NatsControlSignals,
  NatsLiveStream,
  NatsSnapshots,
  PartitionHints,
} from '@turnkeeper/bus';
import { OpenAccounts } from '@turnkeeper/channels';
import { AcceptMessage, combineWakeUps, QueuedEstimate } from '@turnkeeper/core';
import type { Kit, Service } from '@turnkeeper/platform/process';
import { storeGauges } from '@turnkeeper/platform/telemetry';
import { openRedis, QueuedWakeUps, RedisRateLimits } from '@turnkeeper/queue';
import type { IngressConfig } from './config.ts';
import { Access } from './http/access.ts';
import { jsonReader } from './http/json-body.ts';
import { createInternalApp, createPublicApp } from './http/listener-apps.ts';
import { RateGate } from './http/rate-gate.ts';
import { IngressService } from './ingress-service.ts';
import { buildCommands } from './intake/build-commands.ts';
import { buildUploads } from './intake/build-uploads.ts';
import { intakeMetrics } from './intake/intake-metrics.ts';
import { Targets } from './intake/targets.ts';
import { tracedIntake } from './intake/traced-intake.ts';
import { vitalLoops } from './node/vital-signs.ts';
import { announcers } from './runs/announcers.ts';
import { RunWaiters } from './runs/run-waiters.ts';
import { openStores } from './stores.ts';
import { buildStreams } from './streams/build-streams.ts';
import { ClientTokens } from './visitors/client-tokens.ts';
import { StreamTickets } from './visitors/stream-tickets.ts';

/** Builds an ingress: pools → stores → Redis → NATS → use cases → listeners. */
export async function compose(config: IngressConfig, kit: Kit): Promise<Service> {
  const { bootId, clock, crashPoints, ids, logger } = kit;
  const counts = intakeMetrics(kit.metrics);
  const stores = openStores(config, kit);
  const links = await openLinks(config, kit);
  const { intake, slots, nodes, node, databases } = stores;
  const { live, redis, bus, jobs } = links;
  const queued = new QueuedEstimate();
  const acceptMessage = new AcceptMessage({
    ...{ clock, crashPoints, ids, queued, live },
    intake: tracedIntake(intake, kit.tracer),
    nodeId: bootId,
    wakeUps: links.wakeUps,
    partitionOf: (slot) => slots.partitionOf(slot),
    observe: counts.batch,
  });
  const rateLimits = new RedisRateLimits({ link: redis, clock, nodes: () => nodes.count });
  const pepper = config.keyPepper;
  const clientTokens = new ClientTokens({ ...stores, clock, pepper });
  const tickets = new StreamTickets({ ...{ clock, ids, pepper, clientTokens }, uses: stores.ticketUses });
  const access = new Access({
    ...{ clock, pepper, keys: stores.keys, tenants: stores.tenants, clientTokens, tickets },
    operatorToken: config.operatorKey ?? null,
    countFailure: counts.authFailed,
  });
  const waiters = new RunWaiters({ runs: stores.runs, live, clock, logger, waitersMax: config.waitersMax });
  const streams = buildStreams(kit, { ...stores, ...links, access, streamsMax: config.streamsMax });

  const told = { ...links, slots, clock, settled: kit.metrics.counter('events_settled_total') };
  const server = { logger, metrics: kit.metrics, readJson: jsonReader(counts.repaired) };
  const publicApp = createPublicApp({ ...server, requestIdPrefix: `req-${bootId.slice(-12)}` }, kit.readiness, {
    ...stores,
    ...links,
    ...{ access, clientTokens, tickets, logger, readJson: server.readJson },
    acceptMessage,
    typedCommands: buildCommands(kit, { ...stores, ...told, acceptMessage }),
    ...{ queued, waiters, clock },
    ...streams,
    tracer: kit.tracer,
    metrics: counts,
    rates: new RateGate(rateLimits, counts.rateLimited),
    targets: new Targets(stores),
    chat: {
      ...{ folder: config.chatFolder, guests: config.chatGuests, frames: config.chatFrames },
      fileBytesMax: config.fileBytesMax,
    },
    openAccounts: new OpenAccounts(),
    receiveUpload: buildUploads(kit, config, stores.attachments),
    ids,
    ...announcers(told),
  });
  const internal = { ...server, requestIdPrefix: `adm-${bootId.slice(-12)}` };
  const internalApp = createInternalApp(internal, kit.readiness, {
    ...{ ...stores, ...stores.admin, access, acceptMessage, clock, ids },
  });

  return new IngressService({
    ...{ clock, ids, logger, lameDuckMs: config.lameDuckMs },
    listeners: [
      { app: publicApp, at: { host: config.host, port: config.port } },
      { app: internalApp, at: { host: config.internalHost, port: config.internalPort } },
    ],
    ...{ databases, acceptMessage, waiters, slots, node, rateLimits, ...streams },
    warmUp: () => intake.warmUp(),
    loops: [
      ...vitalLoops(kit.vitals, { acceptMessage, node, links: { databases, redis, nats: bus } }),
      { name: 'slot map', everyMs: 10_000, work: () => slots.refresh() },
      { name: 'tenant loads', everyMs: 1_000, work: async () => queued.update(await intake.queuedPerTenant()) },
      { name: 'pings of sockets', everyMs: 20_000, work: async () => streams.openSockets.ping() },
      { name: 'count of ingress nodes', everyMs: 5_000, work: () => nodes.refresh() },
    ],
    closing: [jobs, redis, bus, databases],
  });
}

async function openLinks(config: IngressConfig, { clock, ids, logger, metrics, nodeName, tracer }: Kit) {
  const link = { prefix: config.prefix, keyPrefix: config.prefix, clock, ids, logger };
  const [redis, bus] = await Promise.all([
    openRedis({ ...link, url: config.redisUrl }),
    connectBus({ ...link, url: config.natsUrl, name: `ingress ${nodeName}` }),
  ]);
  const [redisIsUp, natsIsUp] = [storeGauges(metrics, 'redis'), storeGauges(metrics, 'nats')];
  redisIsUp(!redis.away);
  redis.onChange((away) => redisIsUp(!away));
  natsIsUp(bus.connected);
  bus.onChange(natsIsUp);
  const outcomes = metrics.counter('activations_total');
  const jobs = new QueuedWakeUps({ link: redis, clock, outcomes, tracer });
  const dropped = metrics.counter('stream_deltas_dropped_total');
  return {
    ...{ redis, bus, jobs },
    wakeUps: combineWakeUps(new PartitionHints({ link: bus, outcomes }), jobs),
    live: new NatsLiveStream({ link: bus, clock, dropped, watchers: new LaneWatchers({ link: bus, clock }) }),
    signals: new NatsControlSignals(bus),
    snapshots: new NatsSnapshots(bus),
  };
}

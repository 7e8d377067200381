import { randomBytes } from 'node:crypto';
import { connectBus, PartitionHints } from '@turnkeeper/bus';
import {
  AcceptMessage,
  type BootId,
  combineWakeUps,
  type EventId,
  type InboundMessage,
  type Logger,
  QueuedEstimate,
} from '@turnkeeper/core';
import { createCrashPoints, systemClock, systemIds } from '@turnkeeper/platform/process';
import { openRedis, QueuedWakeUps } from '@turnkeeper/queue';
import {
  openConfigs,
  openDatabase,
  PostgresIntakeStore,
  PostgresOwnershipStore,
  Sealing,
  serverKeyWrap,
} from '@turnkeeper/storage';
import type { Ground } from './ground.ts';
import { inParallel } from './in-parallel.ts';

const IN_FLIGHT = 2_000;

/** The queue layer alone: the use case behind every door, called in this process, with the real stores and wake-ups behind it. */
export interface LayerLoad extends AsyncDisposable {
  send(lanes: number, messages: number): Promise<void>;
  /** One message to one lane of an agent of the tenant; resolves when it is accepted. */
  accept(agent: string, sessionKey: string, text: string): Promise<EventId>;
}

export async function openLayerLoad(ground: Ground, tenant = 'test'): Promise<LayerLoad> {
  const { cluster, urls } = ground;
  const prefix = cluster.env['TURNKEEPER_PREFIX'] ?? '';
  const shared = { clock: systemClock, ids: systemIds, logger: SILENT };
  const open = (role: 'tk_engine' | 'tk_lookup', poolMax: number) =>
    openDatabase({ url: cluster.postgresUrl, role, poolMax, applicationName: 'bench' });
  const engine = open('tk_engine', 4);
  const lookup = open('tk_lookup', 1);
  const redis = await openRedis({ url: urls.redis, keyPrefix: prefix, ...shared });
  const bus = await connectBus({ url: urls.nats, prefix, name: 'bench', ...shared });
  const outcomes = { inc: () => undefined };
  const jobs = new QueuedWakeUps({ link: redis, clock: systemClock, outcomes });
  const slots = await new PostgresOwnershipStore(engine).slotMap();
  const acceptMessage = new AcceptMessage({
    ...shared,
    nodeId: systemIds.next() as BootId,
    intake: new PostgresIntakeStore(engine),
    wakeUps: combineWakeUps(new PartitionHints({ link: bus, outcomes }), jobs),
    queued: new QueuedEstimate(),
    partitionOf: (slot) => slots[slot] ?? 0,
    crashPoints: createCrashPoints(undefined),
  });
  const messages = messagesOf(lookup, { tenantName: tenant, masterKey: cluster.env['TURNKEEPER_MASTER_KEY'] ?? '' });
  const accept = async (agent: string, sessionKey: string, text: string) => {
    const message = await messages(agent);
    return (await acceptMessage.accept({ ...message, target: { sessionKey }, content: { text } })).eventId;
  };
  return {
    accept,
    async send(lanes, messages) {
      const run = randomBytes(4).toString('hex');
      await inParallel(messages, IN_FLIGHT, (i) =>
        accept('main', `layer-${run}-${i % lanes}`, `message ${i} of a benchmark, as long as people write`),
      );
    },
    async [Symbol.asyncDispose]() {
      await acceptMessage.close(1_000);
      for (const part of [jobs, redis, bus]) await part[Symbol.asyncDispose]();
      await Promise.all([engine.close(), lookup.close()]);
    },
  };
}

/** A tenant and its agents, as an ingress knows them; each is looked up once. */
function messagesOf(
  lookup: ReturnType<typeof openDatabase>,
  { tenantName, masterKey }: { readonly tenantName: string; readonly masterKey: string },
): (agent: string) => Promise<Omit<InboundMessage, 'target' | 'content'>> {
  const configs = openConfigs({
    database: lookup,
    sealing: new Sealing(serverKeyWrap(masterKey)),
    clock: systemClock,
    onError: () => undefined,
  });
  const find = async (name: string) => {
    const tenant = await configs.tenants.byName(tenantName);
    if (tenant === null) throw new Error(`no tenant ${tenantName}`);
    const agent = await configs.agents.byName(tenant.tenantId, name);
    if (agent === null) throw new Error(`no agent ${name}`);
    const rest = { account: null, kind: 'message', idempotency: null, traceparent: null, onQuota: 'answer' } as const;
    return { tenant, agent, ...rest };
  };
  const known = new Map<string, ReturnType<typeof find>>();
  return (name) => {
    const message = known.get(name) ?? find(name);
    known.set(name, message);
    return message;
  };
}

const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  failed: () => undefined,
  child: () => SILENT,
};

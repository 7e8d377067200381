import { randomUUID } from 'node:crypto';
import { startLocalServices } from '@turnkeeper/platform/local-services';
import { type Cluster, startCluster, startFakePlatform } from '@turnkeeper/test-harness';
import { type HeldModel, startHeldModel } from './held-model.ts';
import { percentile } from './percentile.ts';

/** What people do from one node to a turn that another node took, in milliseconds from the request's first byte. */
export interface ControlFigures {
  readonly bus: 'with NATS' | 'without NATS';
  readonly what: string;
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

interface Scene {
  readonly cluster: Cluster;
  readonly model: HeldModel;
  /** Resolves when the receiver has a message of this text. */
  readonly arrival: (text: string) => Promise<void>;
}

/** An address where nothing listens. */
const NO_NATS = 'nats://127.0.0.1:9';
const AT_ONCE = 5;
const SPREAD_MS = 2_000;
const GIVE_UP_MS = 30_000;

/**
 * Two ingresses and two workers. A message goes in by one ingress; a stop, a pause or an outbound message by the other.
 * Measured: until the model's connection is cut, until a reader at the first ingress is told, until the receiver has it.
 */
export async function measureControl(count: number): Promise<ControlFigures[]> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'], env: {}, prefer: 'program' });
  try {
    const figures: ControlFigures[] = [];
    for (const bus of ['with NATS', 'without NATS'] as const) {
      const urls = bus === 'with NATS' ? services.urls : { ...services.urls, nats: NO_NATS };
      await using cluster = await startCluster({ urls, ingress: 2, workers: 2, env: { TURNKEEPER_LOG_LEVEL: 'warn' } });
      for (const [what, samples] of await measureOn(cluster, count)) figures.push({ bus, what, ...summary(samples) });
    }
    return figures;
  } finally {
    await services.stop();
  }
}

async function measureOn(cluster: Cluster, count: number): Promise<[string, number[]][]> {
  const model = await startHeldModel();
  const arrived = new Map<string, () => void>();
  const platform = await startFakePlatform();
  const watch = setInterval(() => {
    for (const { body } of platform.sends) arrived.get(body.text)?.();
  }, 1);
  try {
    await putAgents(cluster, model.url, platform.url);
    const scene: Scene = { cluster, model, arrival: (text) => once(arrived, text) };
    const stops = await inWaves(count, () => stopOne(scene));
    return [
      ['stop → model cut off', stops.map(({ cutMs }) => cutMs)],
      ['stop → reader told', stops.map(({ toldMs }) => toldMs)],
      ['pause → reader told', await inWaves(count, () => pauseOne(scene))],
      ['outbound → receiver', await inWaves(count, () => outboundOne(scene))],
    ];
  } finally {
    clearInterval(watch);
    await Promise.all([model.close(), platform.close()]);
  }
}

async function putAgents(cluster: Cluster, modelUrl: string, replyUrl: string): Promise<void> {
  const hook = { verify: 'standard-webhooks', template: '{{text}}', replyUrl: `${replyUrl}/in` };
  const secrets = { secret: `whsec_${Buffer.from(randomUUID()).toString('base64')}` };
  await cluster.putTenant({
    ...{ name: 'test', key: cluster.apiKey },
    agents: [
      { name: 'main', runtime: 'echo' },
      { name: 'held', runtime: 'openai', openai: { baseUrl: `${modelUrl}/v1`, model: 'held' } },
    ],
    accounts: [{ name: 'hook', agent: 'main', channel: 'webhook', options: hook, secrets }],
  });
}

/** At random moments, so that no poll is met in step; the first wave only warms up. */
async function inWaves<T>(count: number, one: () => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  while (done.length < count + AT_ONCE) {
    const wave = Array.from({ length: AT_ONCE }, async () => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * SPREAD_MS));
      return one();
    });
    done.push(...(await Promise.all(wave)));
  }
  return done.slice(AT_ONCE);
}

async function stopOne({ cluster, model }: Scene): Promise<{ readonly cutMs: number; readonly toldMs: number }> {
  const key = randomUUID();
  const request = model.expect(key);
  await post({ cluster, at: 0 }, '/v1/messages', { sessionKey: key, text: key, agentId: 'held' });
  await request.came;
  const reader = await readerOf(cluster, { key, type: 'turn.interrupted', query: '&agentId=held' });
  const startMs = performance.now();
  const since = () => performance.now() - startMs;
  const [cutMs, toldMs] = await Promise.all([
    request.cut.then(since),
    reader.told.then(since),
    post({ cluster, at: 1 }, `/v1/sessions/${key}/stop?agentId=held`, {}),
  ]);
  reader.close();
  return { cutMs, toldMs };
}

async function pauseOne({ cluster }: Scene): Promise<number> {
  const key = await newLane(cluster);
  const reader = await readerOf(cluster, { key, type: 'session.updated', query: '' });
  const startMs = performance.now();
  const [toldMs] = await Promise.all([
    reader.told.then(() => performance.now() - startMs),
    post({ cluster, at: 1 }, `/v1/sessions/${key}/pause`, {}),
  ]);
  reader.close();
  return toldMs;
}

async function outboundOne({ cluster, arrival }: Scene): Promise<number> {
  const key = await newLane(cluster);
  const text = randomUUID();
  const startMs = performance.now();
  const arrived = arrival(text).then(() => performance.now() - startMs);
  await post({ cluster, at: 1 }, `/v1/sessions/${key}/outbound`, { text, accountId: 'hook' });
  return arrived;
}

async function newLane(cluster: Cluster): Promise<string> {
  const key = randomUUID();
  const { runId } = await post({ cluster, at: 0 }, '/v1/messages', { sessionKey: key, text: 'hello' });
  await cluster.api(`/v1/runs/${runId}?wait=30`);
  return key;
}

async function post({ cluster, at }: { cluster: Cluster; at: number }, path: string, body: object) {
  const node = cluster.ingress[at];
  const answer = await cluster.api(path, { method: 'POST', body, ...(node && { node }) });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** A stream at the first ingress, open and live; `told` resolves with the first event of this type. */
async function readerOf(cluster: Cluster, { key, type, query }: { key: string; type: string; query: string }) {
  const stop = new AbortController();
  const url = `${cluster.ingress[0]?.url}/v1/sessions/${key}/events?deltas=false${query}`;
  const headers = { authorization: `Bearer ${cluster.apiKey}` };
  const answer = await fetch(url, { headers, signal: AbortSignal.any([stop.signal, AbortSignal.timeout(GIVE_UP_MS)]) });
  const told = Promise.withResolvers<void>();
  const isOpen = Promise.withResolvers<void>();
  const read = async () => {
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (part.includes('event: stream.replayed')) isOpen.resolve();
      if (part.includes(`event: ${type}`)) told.resolve();
    }
  };
  read().catch((error: unknown) => {
    told.reject(error);
    isOpen.reject(error);
  });
  await isOpen.promise;
  return { told: told.promise, close: () => stop.abort() };
}

async function once(arrived: Map<string, () => void>, key: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error(`${key} did not arrive`)), GIVE_UP_MS);
  arrived.set(key, resolve);
  await promise;
  clearTimeout(timer);
  arrived.delete(key);
}

function summary(samples: readonly number[]): Pick<ControlFigures, 'count' | 'p50' | 'p99' | 'most'> {
  const at = (share: number) => Math.round(percentile(samples, share));
  return { count: samples.length, p50: at(0.5), p99: at(0.99), most: at(1) };
}

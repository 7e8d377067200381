import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { type Ground, openGround } from './ground.ts';
import { inParallel } from './in-parallel.ts';
import { type Latencies, latenciesOf, sendSteadily } from './latencies.ts';
import { type LayerLoad, openLayerLoad } from './layer-load.ts';

const AGENT_MS = 500;
/** Of one worker; a tenant gets three quarters of them. */
const SLOTS = 200;
const LANES = 4_000;
const SAMPLE_MS = 250;
const CHANGING_PER_SECOND = 100;

export interface ScaleFigures {
  readonly agentMs: number;
  readonly slotsPerWorker: number;
  readonly steps: readonly {
    readonly workers: number;
    readonly turnsPerSecond: number;
    readonly mostRunning: number;
  }[];
  /** Under a steady load: with two workers throughout, while a third joins, and while one of three leaves. */
  readonly changes: Readonly<Record<'steady' | 'joining' | 'leaving', Latencies>>;
}

/** Turns in flight and a second with 1, 2 and 4 workers, and what a worker that comes or goes costs. */
export async function measureScaleOut(seconds: number): Promise<ScaleFigures> {
  await using ground = await openGround(undefined, { TURNKEEPER_WORKER_SLOTS: String(SLOTS) });
  const { cluster } = ground;
  const client = new pg.Client({ connectionString: cluster.postgresUrl });
  await client.connect();
  try {
    await putTenant(ground);
    await using layer = await openLayerLoad(ground);
    const changes = await measureChanges({ cluster, layer, client, seconds });
    const steps: ScaleFigures['steps'][number][] = [];
    for (const workers of [1, 2, 4]) {
      await resize(cluster, workers);
      steps.push({ workers, ...(await saturate({ cluster, layer, workers, seconds })) });
    }
    return { agentMs: AGENT_MS, slotsPerWorker: SLOTS, steps, changes };
  } finally {
    await client.end();
  }
}

async function putTenant({ cluster }: Ground): Promise<void> {
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    limits: { turnSlots: SLOTS * 8, queuedPerLane: 1_000, queuedPerTenant: 200_000 },
    agents: [{ name: 'main', runtime: 'echo', echo: { delayMs: AGENT_MS, fail: 0 } }],
  });
}

interface On {
  readonly cluster: Cluster;
  readonly layer: LayerLoad;
  readonly seconds: number;
}

/** Queues more than they can answer and counts what they do once all slots are taken. */
async function saturate({ cluster, layer, workers, seconds }: On & { readonly workers: number }) {
  const count = Math.round(((workers * SLOTS * 1000) / AGENT_MS) * (seconds + 4));
  const sending = inParallel(count, 2_000, (i) =>
    layer.accept('main', `scale-${workers}-${i % LANES}`, 'think a little'),
  );
  await sleep(2_000);
  const ended = () => cluster.metric('session-worker', 'turnkeeper_turns_total');
  const [before, startMs] = [await ended(), performance.now()];
  let mostRunning = 0;
  while (performance.now() - startMs < seconds * 1000) {
    mostRunning = Math.max(mostRunning, await cluster.metric('session-worker', 'turnkeeper_turns_running'));
    await sleep(SAMPLE_MS);
  }
  const turnsPerSecond = Math.round(((await ended()) - before) / ((performance.now() - startMs) / 1000));
  await sending;
  const isIdle = async () => (await cluster.metric('session-worker', 'turnkeeper_turns_running')) === 0;
  await until('no turn runs', isIdle, 300_000);
  return { turnsPerSecond, mostRunning };
}

async function measureChanges({ cluster, layer, client, seconds }: On & { readonly client: pg.Client }) {
  const during = async (change: () => Promise<unknown>): Promise<Latencies> => {
    const changing = sleep((seconds * 1000) / 4).then(change);
    const sent = await sendSteadily({ perSecond: CHANGING_PER_SECOND, seconds }, (i) =>
      layer.accept('main', `change-${i % LANES}`, 'think a little'),
    );
    await changing;
    return latenciesOf(client, sent, 60_000);
  };
  await resize(cluster, 2);
  await during(async () => undefined); // opens connections, compiles
  const steady = await during(async () => undefined);
  const joining = await during(() => resize(cluster, 3));
  const leaving = await during(() => resize(cluster, 2));
  return { steady, joining, leaving };
}

/** Starts workers, or lets the youngest drain and end. */
async function resize(cluster: Cluster, workers: number): Promise<void> {
  const alive = () => cluster.workers.filter((worker) => worker.alive);
  while (alive().length < workers) await cluster.add('session-worker');
  for (const worker of alive().slice(workers)) {
    worker.signal('SIGTERM');
    await worker.exited;
  }
}

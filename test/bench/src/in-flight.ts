import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '@turnkeeper/test-harness';
import pg from 'pg';
import { openGround, startServices } from './ground.ts';
import { inParallel } from './in-parallel.ts';
import { openLayerLoad } from './layer-load.ts';
import { residentMegabytes } from './memory.ts';

const SAMPLE_MS = 500;
/** A tenant gets three quarters of a worker's slots at most. */
const SLOTS_PER_TURN = 1.4;
const CONCURRENT_ACCEPTS = 1_000;
const DEADLINE_MS = 300_000;
const FULL_SHARE = 0.99;

/** Many turns at once in one worker, each of an agent that takes its time. */
export interface InFlightFigures {
  readonly turns: number;
  readonly agentSeconds: number;
  readonly mostRunning: number;
  readonly allDoneSeconds: number;
  /** Of the worker: idle before, and the most while they ran. */
  readonly idleMegabytes: number;
  readonly mostMegabytes: number;
  /** Of the worker's event loop, 99th percentile: until all turns ran, and from then until all were done. */
  readonly loopDelayMs: { readonly filling: number; readonly full: number };
}

/** Accepts `turns` messages, each of a lane of its own, as fast as it can, and watches the worker until all are answered. */
export async function measureInFlight(turns: number, agentSeconds: number): Promise<InFlightFigures> {
  const services = await startServices();
  try {
    await using ground = await openGround(services, {
      TURNKEEPER_WORKER_SLOTS: String(Math.round(turns * SLOTS_PER_TURN)),
    });
    const { cluster } = ground;
    await cluster.putTenant({
      name: 'test',
      key: cluster.apiKey,
      limits: { turnSlots: turns * 2, queuedPerLane: 100, queuedPerTenant: turns * 2 },
      agents: [{ name: 'patient', runtime: 'echo', echo: { delayMs: agentSeconds * 1000, fail: 0 } }],
    });
    await using layer = await openLayerLoad(ground);
    const pid = cluster.workers[0]?.pid ?? 0;
    const idleMegabytes = await residentMegabytes(pid);
    const startMs = performance.now();
    const accepted = inParallel(turns, CONCURRENT_ACCEPTS, (i) =>
      layer.accept('patient', `in-flight-${i}`, 'take your time'),
    );
    const seen = await watchUntilDone(cluster, turns, accepted);
    return {
      ...{ turns, agentSeconds, idleMegabytes, ...seen },
      allDoneSeconds: Math.round((performance.now() - startMs) / 100) / 10,
    };
  } finally {
    await services.stop();
  }
}

type Seen = Pick<InFlightFigures, 'mostRunning' | 'mostMegabytes' | 'loopDelayMs'>;

/**
 * Asks the database how many run, because each look at the worker's metrics begins the time that its loop's delay is of: there
 * are two, when all run, and when all are done.
 */
async function watchUntilDone(cluster: Cluster, turns: number, accepted: Promise<void>): Promise<Seen> {
  const pid = cluster.workers[0]?.pid ?? 0;
  const client = new pg.Client({ connectionString: cluster.postgresUrl });
  await client.connect();
  const seen = { mostRunning: 0, mostMegabytes: 0, loopDelayMs: { filling: 0, full: 0 } };
  const untilMs = performance.now() + DEADLINE_MS;
  let failed: unknown = null;
  accepted.catch((error: unknown) => {
    failed = error;
  });
  try {
    await loopDelay(cluster);
    for (let ended = 0; ended < turns; await sleep(SAMPLE_MS)) {
      if (failed !== null) throw failed;
      if (performance.now() > untilMs) throw new Error(`not all of ${turns} turns ended within ${DEADLINE_MS} ms`);
      const { rows } = await client.query<{ running: number; ended: number }>(STATE);
      const [now] = rows;
      ended = now?.ended ?? 0;
      seen.mostMegabytes = Math.max(seen.mostMegabytes, await residentMegabytes(pid));
      if (seen.mostRunning > 0 || (now?.running ?? 0) < turns * FULL_SHARE) continue;
      seen.loopDelayMs.filling = await loopDelay(cluster);
      seen.mostRunning = await cluster.metric('session-worker', 'turnkeeper_turns_running');
    }
    seen.loopDelayMs.full = await loopDelay(cluster);
    return seen;
  } finally {
    await client.end();
  }
}

const STATE = `select (select count(*)::int from tk.lanes where turn_id is not null) as running,
  (select count(*)::int from tk.turns) as ended`;

/** Of the time since the last look at any metric, 99th percentile, milliseconds. */
async function loopDelay(cluster: Cluster): Promise<number> {
  return Math.round((await cluster.metric('session-worker', 'nodejs_eventloop_lag_p99_seconds')) * 1000);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '@turnkeeper/test-harness';
import { openGround, startServices } from './ground.ts';
import { inParallel } from './in-parallel.ts';
import { openLayerLoad } from './layer-load.ts';
import { residentMegabytes } from './memory.ts';

const SAMPLE_MS = 250;
/** A tenant gets three quarters of a worker's slots at most. */
const SLOTS_PER_TURN = 1.4;
const CONCURRENT_ACCEPTS = 1_000;
const DEADLINE_MS = 300_000;

/** Many turns at once in one worker, each of an agent that takes its time. */
export interface InFlightFigures {
  readonly turns: number;
  readonly agentSeconds: number;
  readonly mostRunning: number;
  readonly allDoneSeconds: number;
  /** Of the worker: idle before, and the most while they ran. */
  readonly idleMegabytes: number;
  readonly mostMegabytes: number;
  /** Of the worker's event loop, over samples of 250 ms: the 99th percentile of the worst sample, and of the middle one. */
  readonly loopDelayMs: { readonly worst: number; readonly middle: number };
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
    const samples = await sampleUntilDone(cluster, turns, accepted);
    const delays = samples.map(({ loopDelayMs }) => loopDelayMs).toSorted((a, b) => a - b);
    return {
      ...{ turns, agentSeconds, idleMegabytes },
      mostRunning: Math.max(...samples.map(({ running }) => running)),
      allDoneSeconds: Math.round((performance.now() - startMs) / 100) / 10,
      mostMegabytes: Math.max(...samples.map(({ megabytes }) => megabytes)),
      loopDelayMs: { worst: delays.at(-1) ?? 0, middle: delays[Math.floor(delays.length / 2)] ?? 0 },
    };
  } finally {
    await services.stop();
  }
}

interface Sample {
  readonly running: number;
  readonly megabytes: number;
  readonly loopDelayMs: number;
}

async function sampleUntilDone(cluster: Cluster, turns: number, accepted: Promise<void>): Promise<Sample[]> {
  const pid = cluster.workers[0]?.pid ?? 0;
  const samples: Sample[] = [];
  const untilMs = performance.now() + DEADLINE_MS;
  let failed: unknown = null;
  accepted.catch((error: unknown) => {
    failed = error;
  });
  for (;;) {
    if (failed !== null) throw failed;
    if (performance.now() > untilMs) throw new Error(`not all of ${turns} turns ended within ${DEADLINE_MS} ms`);
    // first and alone: it is of the time since the last look at any metric
    const loopDelay = await cluster.metric('session-worker', 'nodejs_eventloop_lag_p99_seconds');
    const [running, ended] = await Promise.all([
      cluster.metric('session-worker', 'turnkeeper_turns_running'),
      cluster.metric('session-worker', 'turnkeeper_turns_total'),
    ]);
    samples.push({ running, megabytes: await residentMegabytes(pid), loopDelayMs: Math.round(loopDelay * 1000) });
    if (ended >= turns) return samples;
    await sleep(SAMPLE_MS);
  }
}

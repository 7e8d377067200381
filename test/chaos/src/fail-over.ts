import { setTimeout as sleep } from 'node:timers/promises';
import { SIGNED_WEBHOOK } from '@turnkeeper/cli/load';
import { type Cluster, type FakePlatform, type NodeProcess, startFakePlatform, until } from '@turnkeeper/test-harness';
import { revive } from './stage.ts';

const LANES = 64;
const PROBES_PER_SECOND = 20;
/** Long enough for the death to be declared and its lanes to go on. */
const PROBE_SECONDS = 6;
/** The messages for the lanes of the dead worker come within this, while nobody has noticed yet. */
const SPREAD_MS = 1_500;

/** Milliseconds from the kill of a worker to the start of the next turn of each lane that it owned. */
export interface FailOver {
  readonly lanes: number;
  readonly firstMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  /** Lanes of workers that live, from the sending of a message to the arrival of its reply: before the kill, and from it on. */
  readonly others: { readonly idleMs: readonly number[]; readonly duringMs: readonly number[] };
}

interface Scene {
  readonly cluster: Cluster;
  readonly platform: FakePlatform;
  readonly round: number;
}

/**
 * Kills the worker that owns most, sends one message to each lane of it before its death is noticed, and takes from the
 * replies when their turns began (database clock; one machine). Lanes of the other workers are measured before and
 * meanwhile. Starts the worker again and waits until partitions are spread again.
 */
export async function measureFailOver(cluster: Cluster, round: number): Promise<FailOver> {
  await revive(cluster);
  const platform = await startFakePlatform();
  try {
    const scene = { cluster, platform, round };
    await addAccount(scene);
    const { lanes, others, victim } = await warmUp(scene);
    const idleMs = await probe(scene, others);
    victim.signal('SIGKILL');
    const killedAtMs = Date.now();
    const [delays, duringMs] = await Promise.all([delaysOf(scene, lanes, killedAtMs), probe(scene, others)]);
    await victim.restart();
    await until('partitions spread again', async () => (await partitionsOf(cluster, victim.bootId)).size > 0, 20_000);
    await sleep(500);
    return {
      lanes: lanes.length,
      firstMs: delays[0] ?? 0,
      medianMs: delays[Math.floor(delays.length / 2)] ?? 0,
      worstMs: delays.at(-1) ?? 0,
      others: { idleMs, duringMs },
    };
  } finally {
    await platform.close();
  }
}

/** The value below which 99 of 100 lie; 0 of none. */
export function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;
}

async function addAccount({ cluster, platform, round }: Scene): Promise<void> {
  await must(
    cluster.api('/v1/accounts', {
      body: {
        name: `failover-${round}`,
        agent: 'main',
        channel: 'webhook',
        options: { ...SIGNED_WEBHOOK, replyUrl: `${platform.url}/in` },
        secrets: { secret: 'failover-secret-of-a-test' },
      },
    }),
  );
}

/** Lanes that have answered once: those of the worker to be killed, and those of others. */
async function warmUp(scene: Scene): Promise<{ lanes: number[]; others: number[]; victim: NodeProcess }> {
  const { cluster, platform } = scene;
  const warm = await Promise.all(Array.from({ length: LANES }, (_, lane) => send(scene, lane)));
  await until('warm replies', () => platform.sends.length >= LANES, 20_000);
  const victim = cluster.workers.find((node) => node.alive);
  if (victim === undefined) throw new Error('no live worker');
  const owned = await partitionsOf(cluster, victim.bootId);
  const [lanes, others]: [number[], number[]] = [[], []];
  for (const [lane, { partition }] of warm.entries()) (owned.has(partition) ? lanes : others).push(lane);
  return { lanes, others, victim };
}

async function delaysOf(scene: Scene, lanes: readonly number[], killedAtMs: number): Promise<number[]> {
  // all at once they would be a load of their own on the lanes beside them
  const sent = await sendEvenly(scene, lanes, SPREAD_MS / lanes.length);
  const runs = new Set(sent.map(({ runId }) => runId));
  const replies = () => scene.platform.sends.filter(({ body }) => runs.has(body.runId));
  await until('replies after the kill', () => replies().length >= runs.size, 30_000);
  return replies()
    .map(({ body }) => Date.parse(body.startedAt) - killedAtMs)
    .toSorted((a, b) => a - b);
}

/** Messages at an even pace, one lane after another; how long each took to its reply. */
async function probe(scene: Scene, lanes: readonly number[]): Promise<number[]> {
  const count = lanes.length === 0 ? 0 : PROBE_SECONDS * PROBES_PER_SECOND;
  const turns = Array.from({ length: count }, (_, n) => lanes[n % lanes.length] ?? 0);
  const sent = await sendEvenly(scene, turns, 1000 / PROBES_PER_SECOND);
  const sentAtMs = new Map(sent.map(({ runId, atMs }) => [runId, atMs]));
  const replies = () => scene.platform.sends.filter(({ body }) => sentAtMs.has(body.runId));
  await until('replies of the other lanes', () => replies().length >= sentAtMs.size, 30_000);
  return replies().map(({ atMs, body }) => atMs - (sentAtMs.get(body.runId) ?? atMs));
}

/** One message to each of these lanes, one lane after another. */
function sendEvenly(scene: Scene, lanes: readonly number[], everyMs: number) {
  return Promise.all(
    lanes.map(async (lane, n) => {
      await sleep(n * everyMs);
      const atMs = Date.now();
      return { ...(await send(scene, lane)), atMs };
    }),
  );
}

async function send({ cluster, round }: Scene, lane: number): Promise<{ runId: string; partition: number }> {
  const body = { accountId: `failover-${round}`, sessionKey: `failover-${round}-${lane}`, text: 'hello' };
  const { json } = await must(cluster.api('/v1/messages', { body }));
  return { runId: json.runId, partition: json.partition };
}

async function partitionsOf(cluster: Cluster, bootId: string): Promise<Set<number>> {
  const { json } = await cluster.admin('/admin/v1/partitions?limit=200');
  const rows = json.data as { id: number; owner: string | null }[];
  return new Set(rows.filter((row) => row.owner === bootId).map((row) => row.id));
}

async function must<T extends { readonly status: number; readonly text: string }>(answer: Promise<T>): Promise<T> {
  const got = await answer;
  if (got.status >= 300) throw new Error(`${got.status}: ${got.text}`);
  return got;
}

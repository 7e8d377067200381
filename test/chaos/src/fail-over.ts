import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, startFakePlatform, until } from '@turnkeeper/test-harness';

const LANES = 64;

/** Milliseconds from the kill of a worker to the start of the next turn of each lane that it owned. */
export interface FailOver {
  readonly lanes: number;
  readonly firstMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

/**
 * Kills the worker that owns most, sends one message to each lane of it at once, and takes from the replies when their
 * turns began (database clock; one machine). Starts the worker again and waits until partitions are spread again.
 */
export async function measureFailOver(cluster: Cluster, round: number): Promise<FailOver> {
  const platform = await startFakePlatform();
  try {
    const account = `failover-${round}`;
    await must(
      cluster.api('/v1/accounts', {
        body: {
          name: account,
          agent: 'main',
          channel: 'webhook',
          options: {
            verify: 'hmac-sha256-header',
            header: 'x-hub-signature-256',
            prefix: 'sha256=',
            idHeader: 'x-github-delivery',
            template: '{{text}}',
            replyUrl: `${platform.url}/in`,
          },
          secrets: { secret: 'failover-secret-of-a-test' },
        },
      }),
    );
    const send = async (lane: number) => {
      const { json } = await must(
        cluster.api('/v1/messages', {
          body: { accountId: account, sessionKey: `failover-${round}-${lane}`, text: 'hello' },
        }),
      );
      return { runId: json.runId as string, partition: json.partition as number };
    };
    const warm = await Promise.all(Array.from({ length: LANES }, (_, lane) => send(lane)));
    await until('warm replies', () => platform.sends.length >= LANES, 20_000);
    const victim = cluster.workers.find((node) => node.alive);
    if (victim === undefined) throw new Error('no live worker');
    const owned = await partitionsOf(cluster, victim.bootId);
    const lanes = warm.flatMap(({ partition }, lane) => (owned.has(partition) ? [lane] : []));
    victim.signal('SIGKILL');
    const killedAtMs = Date.now();
    const runs = new Set((await Promise.all(lanes.map(send))).map(({ runId }) => runId));
    await until(
      'replies after the kill',
      () => platform.sends.filter(({ body }) => runs.has(body.runId)).length >= runs.size,
      30_000,
    );
    const delays = platform.sends
      .filter(({ body }) => runs.has(body.runId))
      .map(({ body }) => Date.parse(body.startedAt) - killedAtMs)
      .toSorted((a, b) => a - b);
    await victim.restart();
    await until('partitions spread again', async () => (await partitionsOf(cluster, victim.bootId)).size > 0, 20_000);
    await sleep(500);
    return {
      lanes: lanes.length,
      firstMs: delays[0] ?? 0,
      medianMs: delays[Math.floor(delays.length / 2)] ?? 0,
      worstMs: delays.at(-1) ?? 0,
    };
  } finally {
    await platform.close();
  }
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

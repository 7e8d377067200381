import { type LoadReport, runLoad } from '@turnkeeper/cli/load';
import type { Violation } from '@turnkeeper/core';
import { startLocalServices } from '@turnkeeper/platform/local-services';
import { checkInvariants, openDatabase } from '@turnkeeper/storage';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { type Explained, explainAll } from './timelines.ts';

/** Services of its own, so that they may be flushed, stopped and killed, and a cluster of at least six processes on them. */
export interface Stage extends AsyncDisposable {
  readonly services: Awaited<ReturnType<typeof startLocalServices>>;
  readonly cluster: Cluster;
}

/** Two of each service, on own Postgres, Redis and NATS. */
export async function openStage(env: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'], env: {} });
  try {
    const cluster = await startCluster({ urls: services.urls, ingress: 2, workers: 2, coordinators: 2, env });
    return {
      services,
      cluster,
      async [Symbol.asyncDispose]() {
        await cluster[Symbol.asyncDispose]();
        await services.stop();
      },
    };
  } catch (error) {
    await services.stop();
    throw error;
  }
}

export interface Trial {
  readonly report: LoadReport;
  readonly violations: readonly Violation[];
  /** Every event of the trial. */
  readonly explained: Explained;
}

/** An open load. */
export interface Load {
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly lanes: number;
  /** Length of a turn. */
  readonly delayMs: number;
  /** The one address to send to; both ingress when absent. */
  readonly through?: string;
  /** Ends the load before its time. */
  readonly enough?: AbortSignal;
}

/** What whoever runs the processes does: one that slept past its lease ends itself some moments after it was woken. */
export async function revive({ nodes }: Pick<Cluster, 'nodes'>): Promise<void> {
  for (const node of nodes) if (!node.alive) await node.restart();
}

/**
 * Runs load through both ingresses while `fault` does its worst, then judges: from the client's acceptances and the receiver's
 * sends, from the rows, and from the timeline of every event.
 */
export async function underLoad(stage: Pick<Stage, 'cluster'>, load: Load, fault: () => Promise<void>): Promise<Trial> {
  const { cluster } = stage;
  const since = new Date(Date.now() - 1_000);
  const running = runLoad(
    {
      urls: load.through === undefined ? cluster.ingress.map((node) => node.url) : [load.through],
      ...(load.enough === undefined ? {} : { enough: load.enough }),
      key: cluster.apiKey,
      tenants: 1,
      operator: null,
      delayMs: load.delayMs,
      lanes: load.lanes,
      pace: { kind: 'open', ratePerSecond: load.ratePerSecond, seconds: load.seconds },
      listenHost: '127.0.0.1',
      connections: 64,
      giveUpMs: 120_000,
      quietMs: 30_000,
    },
    () => undefined,
    AbortSignal.timeout((load.seconds + 240) * 1_000),
  );
  const [report] = await Promise.all([running, fault()]);
  const violations = await violationsSince(cluster.postgresUrl, since);
  return { report, violations, explained: await explainAll(cluster, since) };
}

async function violationsSince(url: string, since: Date): Promise<readonly Violation[]> {
  const database = openDatabase({ url, role: 'tk_sweep', poolMax: 1, applicationName: 'chaos' });
  try {
    return (await checkInvariants(database, since)).violations;
  } finally {
    await database.close();
  }
}

/** True when nothing was lost, doubled, reordered, overlapping or refused, no row breaks a promise, and every event is explained. */
export function isClean({ report, violations, explained }: Trial): boolean {
  const { lost, doubled, reordered, overlapping, refused } = report;
  return lost + doubled + reordered + overlapping + refused + violations.length + explained.gaps.length === 0;
}

/** What a clean trial looks like, for `toMatchObject`: nothing lost, doubled, reordered, overlapping, and no row breaks a promise. */
export const CLEAN = {
  report: { lost: 0, doubled: 0, reordered: 0, overlapping: 0, refused: 0 },
  violations: [],
  explained: { gaps: [] },
};

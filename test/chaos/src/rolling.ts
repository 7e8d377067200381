import { TURN_STATE } from '@turnkeeper/core';
import { openDatabase } from '@turnkeeper/storage';
import { type Cluster, type NodeProcess, startBalancer } from '@turnkeeper/test-harness';
import { type Load, type Trial, underLoad } from './stage.ts';

/** What a rollout did, besides the verdict on the messages that went through it. */
export interface Rollout extends Trial {
  readonly replaced: number;
  /** Streams that were open at a node when its turn came, and those of them that were told to come back elsewhere. */
  readonly streams: number;
  readonly streamsTold: number;
  /** What counts towards a lane's suspension, or would. */
  readonly strikes: { readonly lanes: number; readonly interruptedTurns: number; readonly deadProcesses: number };
}

/** For the ingress of a rollout: the balancer looks ten times a second. */
export const ROLLING_ENV = { TURNKEEPER_LAME_DUCK_MS: '1500' };

const STREAMS_PER_INGRESS = 3;
/** A node that drains ends its streams much sooner. */
const STREAM_MS = 240_000;

/** From one version to another: what happens under load before the first node goes, and the sources of the replacements. */
export interface NewVersion {
  readonly program: string;
  prepare(): Promise<void>;
}

/**
 * Under load through a balancer each of the nodes gets a SIGTERM in turn, and its replacement is there before the next one
 * goes. The load goes on until the last is back.
 */
export async function rollOut(
  cluster: Cluster,
  nodes: readonly NodeProcess[],
  { version, ...load }: Omit<Load, 'seconds'> & { readonly version?: NewVersion },
): Promise<Rollout> {
  const since = new Date();
  await using balancer = await startBalancer(cluster.ingress);
  const enough = new AbortController();
  let told = 0;
  let streams = 0;
  const trial = await underLoad(
    { cluster },
    { ...load, seconds: 600, through: balancer.url, enough: enough.signal },
    async () => {
      try {
        await version?.prepare();
        for (const node of nodes) {
          const closings = node.kind === 'ingress' ? await openStreams(cluster, node) : [];
          await replace(node, version?.program);
          streams += closings.length;
          told += (await Promise.all(closings)).filter((text) => text.includes('event: stream.closing')).length;
        }
      } finally {
        enough.abort();
      }
    },
  );
  return { ...trial, replaced: nodes.length, streams, streamsTold: told, strikes: await strikesSince(cluster, since) };
}

/** @throws Error when the node does not leave in order */
async function replace(node: NodeProcess, program: string | undefined): Promise<void> {
  node.signal('SIGTERM');
  const code = await node.exited;
  await node.restart(undefined, program);
  if (code !== 0) throw new Error(`${node.name} drained with exit code ${code}\n${node.log.slice(-10).join('\n')}`);
}

/** Streams of the tenant at this very node; each is all of its text, once it has ended. */
async function openStreams(cluster: Cluster, node: NodeProcess): Promise<Promise<string>[]> {
  const headers = { authorization: `Bearer ${cluster.apiKey}`, accept: 'text/event-stream' };
  const signal = AbortSignal.timeout(STREAM_MS);
  const opened = Array.from({ length: STREAMS_PER_INGRESS }, () => fetch(`${node.url}/v1/events`, { headers, signal }));
  return (await Promise.all(opened)).map((answer) => answer.text());
}

async function strikesSince(cluster: Cluster, since: Date): Promise<Rollout['strikes']> {
  const database = openDatabase({ url: cluster.postgresUrl, role: 'tk_sweep', poolMax: 1, applicationName: 'chaos' });
  const count = async (name: string, text: string, values: readonly unknown[]) =>
    (await database.query<{ n: number }>({ name, text: `select count(*)::int n from ${text}` }, values))[0]?.n ?? 0;
  try {
    return {
      lanes: await count('lanes', 'tk.lanes where last_activity_at >= $1 and (resumes > 0 or suspended)', [since]),
      interruptedTurns: await count('turns', 'tk.turns where ended_at >= $1 and state = $2', [
        since,
        TURN_STATE.interrupted,
      ]),
      deadProcesses: await count('workers', 'tk.workers where ended_at >= $1 and state = 3', [since]),
    };
  } finally {
    await database.close();
  }
}

/**
 * True when nobody noticed: nothing refused or unreachable, nothing counted against a lane, every stream told. The messages:
 * `isClean`. Not judged: a store that does not answer, and the odd request that was on its way when an idle connection closed.
 */
export function isRolled({ report: { repeats }, strikes, streams, streamsTold }: Rollout): boolean {
  const { lanes, interruptedTurns, deadProcesses } = strikes;
  const noticed = repeats.unavailable + repeats.unreachable + lanes + interruptedTurns + deadProcesses;
  return noticed === 0 && streams === streamsTold;
}

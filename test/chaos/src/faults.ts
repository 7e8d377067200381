import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeProcess, until } from '@turnkeeper/test-harness';
import { Redis } from 'ioredis';
import type { Stage } from './stage.ts';

export interface Fault {
  readonly name: string;
  /** Shortest load, in seconds, that outlasts it. */
  readonly seconds: number;
  /** What must be seen besides a clean verdict; throws when it is not. */
  strike(stage: Stage): Promise<void>;
}

/** Every fault of the matrix. Each lets the load run for a second first and leaves the cluster whole. */
export function faults(long: boolean): readonly Fault[] {
  const absenceMs = long ? 60_000 : 8_000;
  return [
    { name: 'kill -9 of a worker', seconds: 8, strike: (stage) => killAndRestart(stage.cluster.workers[0]) },
    { name: 'kill -9 of an ingress', seconds: 8, strike: (stage) => killAndRestart(stage.cluster.ingress[0]) },
    { name: 'kill -9 of the leader', seconds: 8, strike: async (stage) => killAndRestart(await leader(stage)) },
    { name: 'SIGSTOP of a worker for 15 s', seconds: 26, strike: pauseWorker },
    { name: 'SIGTERM of a worker', seconds: 8, strike: (stage) => terminateAndRestart(stage.cluster.workers[1]) },
    { name: 'FLUSHALL', seconds: 6, strike: flushRedis },
    {
      name: `Redis absent for ${absenceMs / 1000} s`,
      seconds: absenceMs / 1000 + 6,
      strike: (stage) => absent(stage, 'redis', absenceMs),
    },
    {
      name: `NATS absent for ${absenceMs / 1000} s`,
      seconds: absenceMs / 1000 + 6,
      strike: (stage) => absent(stage, 'nats', absenceMs),
    },
    {
      name: 'Postgres stopped immediately and started',
      seconds: 10,
      strike: (stage) => absent(stage, 'postgres', 1_500),
    },
  ];
}

async function killAndRestart(node: NodeProcess | undefined): Promise<void> {
  if (node === undefined) throw new Error('no such node');
  await sleep(1_500);
  node.signal('SIGKILL');
  await node.exited;
  await sleep(4_000);
  await node.restart();
}

async function terminateAndRestart(node: NodeProcess | undefined): Promise<void> {
  if (node === undefined) throw new Error('no such node');
  await sleep(1_500);
  node.signal('SIGTERM');
  const code = await node.exited;
  if (code !== 0) throw new Error(`${node.name} drained with exit code ${code}\n${node.log.slice(-10).join('\n')}`);
  await node.restart();
}

/** The commit before which the worker stops: by then it is in the middle of the load. */
const STOPPED_COMMIT = 20;

/**
 * The worker sleeps past its lease with a commit in its hand, is declared dead, and wakes into a world that has gone on.
 * It stops itself: stopped from outside, it may find its row dead before anything of it was ready to be committed.
 */
async function pauseWorker(stage: Stage): Promise<void> {
  const worker = stage.cluster.workers[0];
  if (worker === undefined) throw new Error('no worker');
  const refusedBefore = await staleFences(stage);
  worker.signal('SIGTERM');
  await worker.exited;
  await worker.restart({ ...stage.cluster.env, TURNKEEPER_CRASH_POINTS: `commit.before:stop:${STOPPED_COMMIT}` });
  try {
    await until('it has stopped', () => isStopped(worker.pid), 30_000);
    await sleep(15_000);
    worker.signal('SIGCONT');
    // dead is final: it must find its row and leave
    await until('the woken worker ends itself', () => !worker.alive, 15_000);
    await until('its late commit is counted', async () => (await staleFences(stage)) > refusedBefore, 15_000);
  } finally {
    // what comes next needs it, whatever became of this
    if (worker.alive) worker.signal('SIGKILL');
    await worker.exited;
    await worker.restart();
  }
}

/** Whether a signal holds the process (`proc_pid_stat`: the state stands behind the name in parentheses). */
async function isStopped(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

/** `turnkeeper_stale_fence_total` over the coordinators: the leader counts what was refused to processes that are gone. */
async function staleFences({ cluster }: Stage): Promise<number> {
  const pages = await Promise.all(cluster.coordinators.map(metricsOf));
  const counts = pages.flatMap((page) => [...page.matchAll(/^turnkeeper_stale_fence_total(?:\{[^}]*\})? (\d+)$/gm)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function metricsOf(node: NodeProcess): Promise<string> {
  return (await fetch(`${node.internalUrl}/metrics`)).text();
}

async function flushRedis(stage: Stage): Promise<void> {
  const redis = new Redis(stage.services.urls.redis);
  try {
    for (let i = 0; i < 4; i++) {
      await sleep(800);
      await redis.flushall();
    }
  } finally {
    redis.disconnect();
  }
}

async function absent(stage: Stage, name: 'postgres' | 'redis' | 'nats', ms: number): Promise<void> {
  await sleep(1_500);
  await stage.services.stopService(name, 'immediate');
  await sleep(ms);
  await stage.services.startService(name);
}

async function leader(stage: Stage): Promise<NodeProcess | undefined> {
  for (const node of stage.cluster.coordinators) {
    if (/^turnkeeper_leader(\{[^}]*\})? 1$/m.test(await metricsOf(node))) return node;
  }
  return undefined;
}

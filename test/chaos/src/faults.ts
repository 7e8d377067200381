import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeProcess, until } from '@turnkeeper/test-harness';
import { Redis } from 'ioredis';
import pg from 'pg';
import { metricsOf, type Phase } from './phases.ts';
import type { Stage } from './stage.ts';

/** Something that happens to a cluster while one of its nodes is held in the middle of its work. */
export interface Fault {
  readonly name: string;
  /** Shortest load, in seconds, that outlasts it. */
  readonly seconds: number;
  /**
   * Strikes, lets the node go on unless it is gone, and ends what it began; a node that has ended is started again by the
   * caller. What must be seen besides a clean verdict throws when it is not.
   */
  strike(stage: Stage, node: NodeProcess, phase: Phase): Promise<void>;
  /** What must be true when all is over, beside the verdict; throws when it is not. `heldBootId`: of the node that was held. */
  aftermath?(stage: Stage, heldBootId: string, since: Date): Promise<void>;
}

/** Every fault of the matrix. `absenceMs`: how long stores are away in the long form. */
export function faults(absenceMs: number): readonly Fault[] {
  const away = absenceMs / 1000 + 6;
  return [
    { name: 'kill -9', seconds: 8, strike: kill },
    { name: 'SIGSTOP for 15 s', seconds: 24, strike: stopFor15Seconds },
    { name: 'SIGTERM', seconds: 8, strike: terminate },
    { name: 'FLUSHALL', seconds: 6, strike: flushRedis },
    { name: `Redis absent for ${absenceMs / 1000} s`, seconds: away, strike: absence('redis', absenceMs) },
    { name: `NATS absent for ${absenceMs / 1000} s`, seconds: away, strike: absence('nats', absenceMs) },
    {
      name: 'Postgres stopped immediately and started',
      seconds: 8,
      strike: absence('postgres', 1_500),
      aftermath: noStrikes,
    },
    { name: 'Postgres absent for 10 s', seconds: 16, strike: absence('postgres', 10_000), aftermath: noStrikes },
    { name: 'every connection of the pools waits for 5 s', seconds: 11, strike: exhaustPools },
  ];
}

/** The leader is killed, wherever it is. */
export async function killLeader(stage: Stage): Promise<void> {
  await sleep(1_500);
  const node = await leader(stage);
  node.signal('SIGKILL');
  await node.exited;
  await sleep(4_000);
  await node.restart();
}

async function kill(_stage: Stage, node: NodeProcess): Promise<void> {
  node.signal('SIGKILL');
  await node.exited;
  // past its lease: it is declared dead
  await sleep(4_000);
}

/** The node sleeps past its lease. A worker is declared dead meanwhile, and wakes into a world that has gone on. */
async function stopFor15Seconds(stage: Stage, node: NodeProcess, phase: Phase): Promise<void> {
  const refusedBefore = await staleFences(stage);
  await sleep(15_000);
  node.signal('SIGCONT');
  if (node.kind !== 'session-worker') return;
  // dead is final: it must find its row and leave
  await until('the woken worker ends itself', () => !node.alive, 30_000);
  if (phase.point !== 'commit.before') return;
  // it held a commit in its hand; stopped elsewhere, it may find its row dead before anything was ready
  await until('its late commit is counted', async () => (await staleFences(stage)) > refusedBefore, 30_000);
}

async function terminate(_stage: Stage, node: NodeProcess): Promise<void> {
  node.signal('SIGTERM');
  node.signal('SIGCONT');
  const code = await node.exited;
  if (code !== 0) throw new Error(`${node.name} drained with exit code ${code}\n${node.log.slice(-10).join('\n')}`);
}

async function flushRedis({ services }: Stage, node: NodeProcess): Promise<void> {
  const redis = new Redis(services.urls.redis);
  try {
    await redis.flushall();
    node.signal('SIGCONT');
    for (let i = 0; i < 3; i++) {
      await sleep(800);
      await redis.flushall();
    }
  } finally {
    redis.disconnect();
  }
}

function absence(name: 'postgres' | 'redis' | 'nats', ms: number): Fault['strike'] {
  return async ({ services }, node) => {
    await services.stopService(name, 'immediate');
    try {
      node.signal('SIGCONT');
      await sleep(ms);
    } finally {
      await services.startService(name);
    }
  };
}

/**
 * An outage of the database is no process's fault: none is declared dead for it, so no turn counts as crashed, no event as
 * failed, and no lane is suspended. The node that was held may have slept past its lease before the outage: what it ran is left out.
 */
async function noStrikes({ cluster }: Stage, heldBootId: string, since: Date): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.postgresUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select
        (select count(*)::int from tk.turns t join tk.workers w on w.boot_id = t.boot_id
          where t.ended_at >= $1 and t.state = 7 and w.state = 3 and t.boot_id <> $2) as crashes,
        (select count(*)::int from tk.events e where e.accepted_at >= $1 and e.failures > 0
          and not exists (select 1 from tk.turns t where t.boot_id = $2 and t.state = 7 and e.id = any (t.event_ids))) as failures,
        (select count(*)::int from tk.audit a where a.at >= $1 and a.action = 'lane.suspended') as suspended`,
      [since, heldBootId],
    );
    const strikes = JSON.stringify(rows[0]);
    if (strikes !== '{"crashes":0,"failures":0,"suspended":0}')
      throw new Error(`the outage counted as crashes: ${strikes}`);
  } finally {
    await client.end();
  }
}

/** Whatever a statement of the engine or of an accept wants is locked, so that every connection soon waits. */
async function exhaustPools({ cluster }: Stage, node: NodeProcess): Promise<void> {
  const holder = new pg.Client({ connectionString: cluster.postgresUrl });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('lock table tk.lanes, tk.events in access exclusive mode');
    node.signal('SIGCONT');
    await sleep(5_000);
    await holder.query('rollback');
  } finally {
    await holder.end();
  }
}

/** `turnkeeper_stale_fence_total` over the coordinators: the leader counts what was refused to processes that are gone. */
async function staleFences({ cluster }: Stage): Promise<number> {
  const pages = await Promise.all(cluster.coordinators.map(metricsOf));
  const counts = pages.flatMap((page) => [...page.matchAll(/^turnkeeper_stale_fence_total(?:\{[^}]*\})? (\d+)$/gm)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function leader(stage: Stage): Promise<NodeProcess> {
  for (const node of stage.cluster.coordinators) {
    if (/^turnkeeper_leader(\{[^}]*\})? 1$/m.test(await metricsOf(node))) return node;
  }
  throw new Error('no coordinator leads');
}

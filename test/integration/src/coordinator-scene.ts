/** A database of its own and coordinators as processes on it. */
import { connectBus, NatsControlSignals, PartitionHints } from '@turnkeeper/bus';
import type { BootId, ClaimedTurn, WakeUp } from '@turnkeeper/core';
import { systemClock as clock, systemIds as ids } from '@turnkeeper/platform/process';
import { createLogger } from '@turnkeeper/platform/telemetry';
import { openStage, type Stage, type StageLane } from '@turnkeeper/storage/testing';
import { type NodeProcess, startNode } from '@turnkeeper/test-harness';
import { inject, type TestContext } from 'vitest';

const urls = inject('urls');

interface Scene {
  readonly stage: Stage;
  readonly prefix: string;
  startCoordinator(name: string): Promise<NodeProcess>;
}

/** Ends with the test whose hook it is given: tests may run side by side. */
export async function openScene({ onTestFinished }: TestContext): Promise<Scene> {
  const stage = await openStage(urls);
  onTestFinished(() => stage.close());
  const prefix = `t${ids.next().slice(-12)}`;
  const env = {
    TURNKEEPER_POSTGRES_URL: stage.fresh.url,
    TURNKEEPER_REDIS_URL: urls.redis,
    TURNKEEPER_NATS_URL: urls.nats,
    TURNKEEPER_PREFIX: prefix,
    TURNKEEPER_INTERNAL_PORT: '0',
  };
  return {
    stage,
    prefix,
    startCoordinator: async (name) => {
      const node = await startNode({ kind: 'coordinator', name, env });
      onTestFinished(async () => {
        node.signal('SIGCONT');
        node.signal('SIGKILL');
        await node.exited;
      });
      return node;
    },
  };
}

/** A worker that owns all partitions and beats until it is killed; `turn` runs in its name. */
export async function startWorker(stage: Stage, { onTestFinished }: TestContext) {
  const bootId = await stage.worker();
  const partitions = (await stage.ownership.view()).partitions.map(({ id }) => id);
  await stage.ownership.acquire(bootId, partitions);
  const lane = stage.lane(await stage.tenant(`t-${bootId}`), 'k');
  await stage.send(lane, 'hello');
  const turn = await stage.claim(bootId, lane);
  const life = new AbortController();
  let beats = 0;
  let isCutOff = false;
  const beating = (async () => {
    while (!life.signal.aborted) {
      if (!isCutOff && (await stage.ownership.heartbeat(bootId))) beats++;
      await clock.sleep(300, life.signal);
    }
  })();
  const kill = async () => {
    life.abort();
    await beating;
  };
  onTestFinished(kill);
  const cutOff = (isNow: boolean) => {
    isCutOff = isNow;
  };
  return { bootId, lane, turn, kill, cutOff, beats: () => beats };
}

/** What the cluster is told over NATS. */
export async function listen(
  { prefix, partition }: { readonly prefix: string; readonly partition: number },
  { onTestFinished }: TestContext,
) {
  const logger = createLogger({ level: 'silent', fields: {} });
  const link = await connectBus({ url: urls.nats, prefix, name: 'test', clock, ids, logger });
  onTestFinished(() => link[Symbol.asyncDispose]());
  const woken: WakeUp[] = [];
  const gone: BootId[] = [];
  const onWakeUps = (wakeUps: readonly WakeUp[] | 'scan') => {
    if (wakeUps !== 'scan') woken.push(...wakeUps);
  };
  new PartitionHints({ link, outcomes: { inc: () => undefined } }).listen({ partition, onWakeUps });
  new NatsControlSignals(link).onGoodbye((bootId) => gone.push(bootId));
  return { woken, gone };
}

export async function workerState(stage: Stage, bootId: BootId | string): Promise<number | undefined> {
  const [row] = await stage.rows<{ state: number }>('select state from tk.workers where boot_id = $1', [bootId]);
  return row?.state;
}

/** `interrupted` = rows of this turn that say so; `resumeOf` = the turn whose one resume the lane owes. */
export async function fateOf(stage: Stage, lane: StageLane, turn: ClaimedTurn) {
  const [row] = await stage.rows<{ interrupted: number; resume_of: string | null; resumes: number }>(
    `select (select count(*)::int from tk.turns where id = $2 and state = 7) interrupted, resume_of, resumes
     from tk.lanes where id = $1`,
    [lane.laneId, turn.fence.turnId],
  );
  return row;
}

export async function leaderOf(stage: Stage): Promise<string | undefined> {
  const [row] = await stage.rows<{ holder: string }>('select holder from tk.leases');
  return row?.holder;
}

export async function metric(node: NodeProcess, series: string): Promise<number> {
  const response = await fetch(`${node.internalUrl}/metrics`, { signal: AbortSignal.timeout(5000) });
  const line = (await response.text()).split('\n').find((text) => text.startsWith(`turnkeeper_${series} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

/** Coordinators as processes, on a real Postgres: who leads, who is declared dead, and what becomes of lost turns. */
import { connectBus, NatsControlSignals, PartitionHints } from '@turnkeeper/bus';
import type { BootId, ClaimedTurn, WakeUp } from '@turnkeeper/core';
import { systemClock as clock, systemIds as ids } from '@turnkeeper/platform/process';
import { createLogger } from '@turnkeeper/platform/telemetry';
import { openStage, type Stage, type StageLane } from '@turnkeeper/storage/testing';
import { type NodeProcess, startNode, until } from '@turnkeeper/test-harness';
import { expect, inject, onTestFinished, test } from 'vitest';

const urls = inject('urls');

interface Scene {
  readonly stage: Stage;
  readonly prefix: string;
  startCoordinator(name: string): Promise<NodeProcess>;
}

async function openScene(): Promise<Scene> {
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
async function startWorker(stage: Stage) {
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
async function listen(prefix: string, partition: number) {
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

async function workerState(stage: Stage, bootId: BootId | string): Promise<number | undefined> {
  const [row] = await stage.rows<{ state: number }>('select state from tk.workers where boot_id = $1', [bootId]);
  return row?.state;
}

/** `interrupted` = rows of this turn that say so; `resumeOf` = the turn whose one resume the lane owes. */
async function fateOf(stage: Stage, lane: StageLane, turn: ClaimedTurn) {
  const [row] = await stage.rows<{ interrupted: number; resume_of: string | null; resumes: number }>(
    `select (select count(*)::int from tk.turns where id = $2 and state = 7) interrupted, resume_of, resumes
     from tk.lanes where id = $1`,
    [lane.laneId, turn.fence.turnId],
  );
  return row;
}

async function leaderOf(stage: Stage): Promise<string | undefined> {
  const [row] = await stage.rows<{ holder: string }>('select holder from tk.leases');
  return row?.holder;
}

async function metric(node: NodeProcess, series: string): Promise<number> {
  const response = await fetch(`${node.internalUrl}/metrics`, { signal: AbortSignal.timeout(5000) });
  const line = (await response.text()).split('\n').find((text) => text.startsWith(`turnkeeper_${series} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

test('a worker that stops beating is declared dead; its turn is interrupted once, its lane and partitions handed on', async () => {
  const { stage, prefix, startCoordinator } = await openScene();
  const coordinator = await startCoordinator('coordinator-1');
  const worker = await startWorker(stage);
  const { lane, turn } = worker;
  const partition = (await stage.ownership.slotMap())[lane.slot] ?? 0;
  const told = await listen(prefix, partition);
  await until('it leads', async () => (await metric(coordinator, 'leader')) === 1);

  await worker.kill();

  await until('the lane owes a resume', async () => (await fateOf(stage, lane, turn))?.resume_of !== null);
  expect(await workerState(stage, worker.bootId)).toBe(3);
  expect(await fateOf(stage, lane, turn)).toEqual({ interrupted: 1, resume_of: turn.fence.turnId, resumes: 1 });
  await until('the lane is woken', () => told.woken.some((wakeUp) => wakeUp.lane.laneId === lane.laneId));
  expect(told.gone).toEqual([worker.bootId]);
  await until('its partitions are free', async () => {
    const { partitions } = await stage.ownership.view();
    return partitions.every(({ owner }) => owner === null);
  });
  await until('that partitions lack an owner is shown', async () => {
    return (await metric(coordinator, 'partition_owner_missing_seconds')) > 0;
  });
  expect(await metric(coordinator, 'takeovers_total{cause="lease_over",false="false"}')).toBe(1);
  expect(await metric(coordinator, 'resumes_total{reason="restart_interrupted",outcome="resume"}')).toBe(1);
  expect(await metric(coordinator, 'takeover_delay_seconds_count')).toBe(1);
});

test('when nobody could write for longer than a lease nobody is declared dead', async () => {
  const { stage, startCoordinator } = await openScene();
  const coordinators = await Promise.all([startCoordinator('coordinator-1'), startCoordinator('coordinator-2')]);
  const worker = await startWorker(stage);
  await until('they have proven the database healthy', async () => worker.beats() > 15);

  worker.cutOff(true);
  const blocker = await stage.root.connect();
  try {
    await blocker.query('begin');
    await blocker.query('lock table tk.workers in access exclusive mode');
    await until('every lease is over', async () => {
      const { rows } = await blocker.query(
        "select from tk.workers having min(clock_timestamp() - beat_at) > interval '5 seconds'",
      );
      return rows.length === 1;
    });
    await blocker.query('rollback');
  } finally {
    blocker.release();
  }
  // the worker takes a second longer than the coordinators to find its way back to the database
  const { rows } = await stage.root.query<{ now: Date }>('select clock_timestamp() as now');
  await until('the coordinators write again', async () => {
    const text =
      "select from tk.workers where kind = 'coordinator' and beat_at > $1::timestamptz + interval '1 second'";
    return (await stage.rows(text, [rows[0]?.now])).length === 2;
  });
  worker.cutOff(false);

  const before = worker.beats();
  await until('everybody beats again for longer than a lease', () => worker.beats() > before + 20);
  expect(await workerState(stage, worker.bootId)).toBe(0);
  for (const node of coordinators) expect(await workerState(stage, node.bootId)).toBe(0);
  expect(await fateOf(stage, worker.lane, worker.turn)).toEqual({ interrupted: 0, resume_of: null, resumes: 0 });
});

test('when the leader is killed the standby leads, declares it dead and repairs on', async () => {
  const { stage, startCoordinator } = await openScene();
  const leader = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === leader.bootId);
  const standby = await startCoordinator('coordinator-2');
  const worker = await startWorker(stage);
  await until('the standby has proven the database healthy', () => worker.beats() > 15);
  expect(await metric(standby, 'leader')).toBe(0);

  leader.signal('SIGKILL');
  await worker.kill();

  await until(
    'the lane owes a resume',
    async () => (await fateOf(stage, worker.lane, worker.turn))?.resume_of !== null,
  );
  expect(await leaderOf(stage)).toBe(standby.bootId);
  await until('the killed one is declared dead', async () => (await workerState(stage, leader.bootId)) === 3);
  expect(await metric(standby, 'leader')).toBe(1);
});

test('a leader that was stopped and wakes ends itself, and repairs nothing twice', async () => {
  const { stage, startCoordinator } = await openScene();
  const paused = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === paused.bootId);
  const standby = await startCoordinator('coordinator-2');
  const worker = await startWorker(stage);
  await until('the standby has proven the database healthy', () => worker.beats() > 15);

  paused.signal('SIGSTOP');
  await worker.kill();
  await until('the other one leads', async () => (await leaderOf(stage)) === standby.bootId);
  await until(
    'the lane owes a resume',
    async () => (await fateOf(stage, worker.lane, worker.turn))?.resume_of !== null,
  );
  await until('the stopped one is declared dead', async () => (await workerState(stage, paused.bootId)) === 3);
  paused.signal('SIGCONT');

  expect(await paused.exited).toBe(1);
  expect(paused.log.some((line) => line.includes('declared dead'))).toBe(true);
  expect(await leaderOf(stage)).toBe(standby.bootId);
  const { lane, turn } = worker;
  expect(await fateOf(stage, lane, turn)).toEqual({ interrupted: 1, resume_of: turn.fence.turnId, resumes: 1 });
});

test('SIGTERM hands the lease over and ends with 0', async () => {
  const { stage, startCoordinator } = await openScene();
  const leader = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === leader.bootId);
  const standby = await startCoordinator('coordinator-2');

  leader.signal('SIGTERM');

  expect(await leader.exited).toBe(0);
  await until('the standby leads', async () => (await leaderOf(stage)) === standby.bootId);
  expect(await workerState(stage, leader.bootId)).toBe(2);
});

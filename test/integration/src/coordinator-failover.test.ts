/**
 * Coordinators as processes, on a real Postgres: who leads, who is declared dead, and what becomes of lost turns. One
 * scene after another: leases run on real time, and a beat that its neighbours make late is a death that no scene expects.
 */
import { until } from '@turnkeeper/test-harness';
import { expect, test, vi } from 'vitest';
import { fateOf, leaderOf, listen, metric, openScene, startWorker, workerState } from './coordinator-scene.ts';

vi.setConfig({ testTimeout: 180_000 });

test('a worker that stops beating is declared dead; its turn is interrupted once, its lane and partitions handed on', async (context) => {
  const { stage, prefix, startCoordinator } = await openScene(context);
  const coordinator = await startCoordinator('coordinator-1');
  const worker = await startWorker(stage, context);
  const { lane, turn } = worker;
  const partition = (await stage.ownership.slotMap())[lane.slot] ?? 0;
  const told = await listen({ prefix, partition }, context);
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

test('when the leader is killed the standby leads, declares it dead and repairs on', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const leader = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === leader.bootId);
  const standby = await startCoordinator('coordinator-2');
  const worker = await startWorker(stage, context);
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

test('a leader that was stopped and wakes ends itself, and repairs nothing twice', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const paused = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === paused.bootId);
  const standby = await startCoordinator('coordinator-2');
  const worker = await startWorker(stage, context);
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
  await until('the false death is counted', async () => {
    return (await metric(standby, 'takeovers_total{cause="lease_over",false="true"}')) === 1;
  });
  const { lane, turn } = worker;
  expect(await fateOf(stage, lane, turn)).toEqual({ interrupted: 1, resume_of: turn.fence.turnId, resumes: 1 });
});

test('SIGTERM hands the lease over and ends with 0', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const leader = await startCoordinator('coordinator-1');
  await until('the first one leads', async () => (await leaderOf(stage)) === leader.bootId);
  const standby = await startCoordinator('coordinator-2');

  leader.signal('SIGTERM');

  expect(await leader.exited).toBe(0);
  await until('the standby leads', async () => (await leaderOf(stage)) === standby.bootId);
  expect(await workerState(stage, leader.bootId)).toBe(2);
});

test('when nobody could write for longer than a lease nobody is declared dead', async (context) => {
  const { stage, startCoordinator } = await openScene(context);
  const coordinators = await Promise.all([startCoordinator('coordinator-1'), startCoordinator('coordinator-2')]);
  const worker = await startWorker(stage, context);
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

import { type BootId, DatabaseHealth, Leadership, noTracer, RESUME_BREAKER, type TurnId } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { createLogger, createMetrics } from '@turnkeeper/platform/telemetry';
import { expect, test } from 'vitest';
import { deadProcesses } from '../sweeps/dead-processes.ts';
import { lostTurns } from '../sweeps/lost-turns.ts';
import { runSweeps } from '../sweeps/run-sweeps.ts';
import { FakeDatabase } from './fake-database.ts';
import { LeaderLoop } from './leader-loop.ts';

const LEASE_MS = 3000;
const logger = createLogger({ level: 'silent', fields: {} });

/** Coordinators and workers on one database, all in virtual time. */
class Scene {
  readonly clock = new VirtualClock();
  readonly database = new FakeDatabase(this.clock);
  readonly #end = new AbortController();

  /** A coordinator as its process runs it: heartbeats, lease, and the sweeps that take over. */
  coordinator(name: string) {
    const bootId = name as BootId;
    const [connection, sweeping] = [this.database.connect(), this.database.connect()];
    const metrics = createMetrics({ service: 'coordinator', version: '0' });
    const health = new DatabaseHealth(this.clock, { leaseMs: LEASE_MS, gapMs: 1500, jumpMs: 1000 });
    const leadership = new Leadership(this.clock, { leaseMs: LEASE_MS, marginMs: 500 });
    const parts = { clock: this.clock, logger, metrics, tracer: noTracer };
    const wakeUps = { wake: () => undefined };
    const ownership = { slotMap: async () => new Int16Array(1) };
    const takeovers = metrics.counter('takeovers_total');
    const sweeps = [
      deadProcesses({
        repair: sweeping,
        health,
        signals: { sayGoodbye: () => undefined },
        leaseMs: LEASE_MS,
        takeovers,
        logger,
        tracer: noTracer,
      }),
      lostTurns({
        repair: sweeping,
        ownership,
        wakeUps,
        live: { publish: () => undefined },
        clock: this.clock,
        breaker: RESUME_BREAKER,
        resumes: metrics.counter('resumes_total'),
        parked: metrics.counter('events_parked'),
        delay: metrics.histogram('takeover_delay_seconds'),
        logger,
      }),
    ];
    const ended: unknown[] = [];
    const loop = new LeaderLoop({
      ...{ bootId, leaseMs: LEASE_MS, ownership: connection, repair: connection, health, leadership },
      ...{ clock: this.clock, logger, postgresIsUp: () => undefined },
      onTerm: (term) => runSweeps({ groups: [{ everyMs: 250, sweeps }], ...parts }, term),
      onDead: (error) => ended.push(error),
    });
    this.database.register(bootId);
    const stop = new AbortController();
    const running = loop.run(AbortSignal.any([stop.signal, this.#end.signal]));
    return { bootId, connection, sweeping, leadership, ended, running, stop: () => stop.abort() };
  }

  /** A worker that beats every 0.5 s for as long as it lives, and one turn of it. */
  worker(name: string) {
    const bootId = name as BootId;
    const turnId = `turn of ${name}` as TurnId;
    const connection = this.database.connect();
    const life = new AbortController();
    this.database.register(bootId);
    this.database.turns.set(turnId, { bootId, isRunning: true });
    void this.#beat(bootId, connection, AbortSignal.any([life.signal, this.#end.signal]));
    return { bootId, turnId, kill: () => life.abort() };
  }

  async end(): Promise<void> {
    this.#end.abort();
    await this.clock.advance(0);
  }

  async #beat(bootId: BootId, connection: ReturnType<FakeDatabase['connect']>, life: AbortSignal): Promise<void> {
    while (!life.aborted) {
      // a heartbeat that fails is simply tried again, like a worker does
      await connection.heartbeat(bootId).catch(() => false);
      await this.clock.sleep(500, life);
    }
  }
}

test('a worker that stops beating is declared dead after its lease, and its turns are interrupted once', async () => {
  const scene = new Scene();
  scene.coordinator('c1');
  const [lost, live] = [scene.worker('w1'), scene.worker('w2')];
  await scene.clock.advance(10_000);
  expect([...scene.database.rows.values()].some((row) => row.isDead)).toBe(false);

  lost.kill();
  await scene.clock.advance(2500);
  expect(scene.database.isDead(lost.bootId)).toBe(false);
  await scene.clock.advance(1500);

  expect(scene.database.isDead(lost.bootId)).toBe(true);
  expect(scene.database.isDead(live.bootId)).toBe(false);
  expect(scene.database.interrupted).toEqual([lost.turnId]);
  await scene.end();
});

test('an outage of 10 s kills nobody; who died in it is found out a lease later', async () => {
  const scene = new Scene();
  scene.coordinator('c1');
  scene.coordinator('c2');
  const [lost, live] = [scene.worker('w1'), scene.worker('w2')];
  await scene.clock.advance(10_000);

  scene.database.isAway = true;
  lost.kill();
  await scene.clock.advance(10_000);
  scene.database.isAway = false;
  await scene.clock.advance(2500);
  expect(scene.database.interrupted).toEqual([]);
  await scene.clock.advance(3000);

  expect(scene.database.interrupted).toEqual([lost.turnId]);
  expect(scene.database.isDead(live.bootId)).toBe(false);
  expect(['c1', 'c2'].filter((name) => scene.database.isDead(name as BootId))).toEqual([]);
  await scene.end();
});

test.each([60_000, -60_000])('a jump of the database clock by %i ms kills nobody', async (jumpMs) => {
  const scene = new Scene();
  scene.coordinator('c1');
  const worker = scene.worker('w1');
  // the jump comes between two looks, wherever the statements of a look stand
  for (let n = 0; n < 8; n++) {
    await scene.clock.advance(10_000 + n * 33);
    scene.database.jumpedMs += jumpMs;
    await scene.clock.advance(5000);
  }
  expect(scene.database.isDead(worker.bootId)).toBe(false);
  expect(scene.database.isDead('c1' as BootId)).toBe(false);
  await scene.end();
});

test('a declaration that was held up while the clock went on declares nobody', async () => {
  const scene = new Scene();
  const leader = scene.coordinator('c1');
  const worker = scene.worker('w1');
  await scene.clock.advance(10_000);
  const deliver = leader.sweeping.stall();
  await scene.clock.advance(500);
  scene.database.jumpedMs += 10_000;
  deliver();
  await scene.clock.advance(0);
  expect(scene.database.isDead(worker.bootId)).toBe(false);
  await scene.clock.advance(10_000);
  expect(scene.database.isDead(worker.bootId)).toBe(false);
  await scene.end();
});

test('a killed leader and a worker that dies with it are both replaced', async () => {
  const scene = new Scene();
  const leader = scene.coordinator('c1');
  await scene.clock.advance(1000);
  scene.coordinator('c2');
  const worker = scene.worker('w1');
  await scene.clock.advance(10_000);
  expect(scene.database.leader).toBe('c1');

  worker.kill();
  leader.connection.stall();
  await scene.clock.advance(5000);

  expect(scene.database.leader).toBe('c2');
  expect(scene.database.interrupted).toEqual([worker.turnId]);
  await scene.end();
});

test('a leader that was paused leads no more when it wakes, and what it does then changes nothing', async () => {
  const scene = new Scene();
  const paused = scene.coordinator('c1');
  await scene.clock.advance(1000);
  scene.coordinator('c2');
  const worker = scene.worker('w1');
  await scene.clock.advance(10_000);
  const { term } = paused.leadership;
  expect(term?.aborted).toBe(false);

  const wake = paused.connection.stall();
  worker.kill();
  await scene.clock.advance(15_000);
  expect(scene.database.interrupted).toEqual([worker.turnId]);
  expect(term?.aborted).toBe(true);
  wake();
  await scene.clock.advance(5000);

  expect(paused.ended).toHaveLength(1);
  expect(scene.database.leader).toBe('c2');
  expect(scene.database.interrupted).toEqual([worker.turnId]);
  await scene.end();
});

test('two leaders at once interrupt each lost turn once', async () => {
  const scene = new Scene();
  scene.database.hasNoLease = true;
  const leaders = [scene.coordinator('c1'), scene.coordinator('c2')];
  const workers = ['w1', 'w2', 'w3'].map((name) => scene.worker(name));
  await scene.clock.advance(10_000);
  expect(leaders.map(({ leadership }) => leadership.term?.aborted)).toEqual([false, false]);
  for (const worker of workers) worker.kill();
  await scene.clock.advance(5000);
  expect(scene.database.interrupted.sort()).toEqual(workers.map((worker) => worker.turnId).sort());
  await scene.end();
});

test('a leader that stops gives its lease back, so that the standby leads at its next look', async () => {
  const scene = new Scene();
  const leader = scene.coordinator('c1');
  await scene.clock.advance(1000);
  scene.coordinator('c2');
  await scene.clock.advance(5000);
  expect(scene.database.leader).toBe('c1');
  leader.stop();
  await scene.clock.advance(300);
  await leader.running;
  expect(scene.database.leader).toBe('c2');
  await scene.end();
});

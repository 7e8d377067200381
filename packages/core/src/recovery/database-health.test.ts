import { expect, test } from 'vitest';
import { VirtualClock } from '../testing/index.ts';
import { DatabaseHealth } from './database-health.ts';

/** A coordinator that samples every 250 ms, and the clock of its database. */
class Scene {
  readonly clock = new VirtualClock();
  readonly health = new DatabaseHealth(this.clock, { leaseMs: 3000, gapMs: 1000, jumpMs: 1000 });
  databaseAheadMs = 5_000_000;

  sample(tookMs = 2): void {
    const answeredMs = this.clock.monotonicMs();
    this.health.sampled({
      sentMs: answeredMs - tookMs,
      answeredMs,
      readAtMs: answeredMs - tookMs / 2,
      databaseMs: answeredMs - tookMs / 2 + this.databaseAheadMs,
    });
  }

  /** Samples evenly for this long. */
  async run(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 250) {
      await this.clock.advance(250);
      this.sample();
    }
  }
}

async function healthyScene(): Promise<Scene> {
  const scene = new Scene();
  scene.sample();
  await scene.run(3000);
  return scene;
}

test('nobody is declared dead before a whole lease of own writes', async () => {
  const scene = new Scene();
  expect(scene.health.isProven).toBe(false);
  scene.sample();
  await scene.run(2750);
  expect(scene.health.isProven).toBe(false);
  await scene.run(250);
  expect(scene.health.isProven).toBe(true);
});

test('health stays proven for days, and remembers no more than a lease of samples', async () => {
  const scene = await healthyScene();
  for (let n = 0; n < 2000; n++) {
    await scene.run(250);
    // monotonic clocks drift: a second per day is no jump
    scene.databaseAheadMs += 0.5;
    expect(scene.health.isProven).toBe(true);
  }
});

test('after an outage of 10 s everybody has a whole lease to renew', async () => {
  const scene = await healthyScene();
  for (let n = 0; n < 10; n++) {
    await scene.clock.advance(1000);
    scene.health.failed();
  }
  scene.sample();
  await scene.run(2750);
  expect(scene.health.isProven).toBe(false);
  await scene.run(250);
  expect(scene.health.isProven).toBe(true);
});

test('an outage without an error is seen: writes that took long, or none at all', async () => {
  const slow = await healthyScene();
  await slow.clock.advance(5000);
  expect(slow.health.isProven).toBe(false);
  slow.sample(5000);
  expect(slow.health.isProven).toBe(false);

  const fresh = new Scene();
  await fresh.clock.advance(5000);
  fresh.sample(4000);
  await fresh.run(2750);
  expect(fresh.health.isProven).toBe(false);
});

test('a coordinator that was stopped itself judges nobody when it wakes', async () => {
  const scene = await healthyScene();
  await scene.clock.advance(15_000);
  scene.sample();
  expect(scene.health.isProven).toBe(false);
});

test.each([10_000, -10_000, 1001])('a jump of the database clock by %i ms kills nobody', async (jumpMs) => {
  const scene = await healthyScene();
  scene.databaseAheadMs += jumpMs;
  await scene.run(2750);
  expect(scene.health.isProven).toBe(false);
  await scene.run(500);
  expect(scene.health.isProven).toBe(true);
});

test('small jumps that add up within a lease are one jump', async () => {
  const scene = await healthyScene();
  for (let n = 0; n < 3; n++) {
    scene.databaseAheadMs += 400;
    await scene.run(250);
  }
  expect(scene.health.isProven).toBe(false);
});

test('the expected database time follows the clock of the last sample', async () => {
  const scene = new Scene();
  expect(scene.health.expectedDatabaseMs).toBeNaN();
  scene.sample();
  await scene.clock.advance(200);
  expect(scene.health.expectedDatabaseMs).toBe(scene.clock.monotonicMs() + scene.databaseAheadMs);
});

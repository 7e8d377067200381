import { startCluster } from '@turnkeeper/test-harness';
import { expect, inject, test } from 'vitest';
import { isRolled, ROLLING_ENV, rollOut } from './rolling.ts';
import { CLEAN } from './stage.ts';

const ROLLOUTS_MAX = 3;

/**
 * The short form of `npm run chaos -- --rolling`, without processes. No rollout may cost a message. A machine that stands still
 * for a whole lease lets a worker be declared dead that only was not heard, which is no fault of the rollout: only then is
 * there another.
 */
test('a rollout of every service loses, doubles, reorders and refuses nothing, and counts against no lane', async () => {
  await using cluster = await startCluster({
    ...{ urls: inject('urls'), ingress: 2, workers: 2, coordinators: 2, mode: 'inline', env: ROLLING_ENV },
  });
  for (let attempt = 1; ; attempt++) {
    const rollout = await rollOut(cluster, cluster.nodes, { ratePerSecond: 30, lanes: 20, delayMs: 200 });
    expect(rollout).toMatchObject(CLEAN);
    expect(rollout.report.answered).toBe(rollout.report.sent);
    if (rollout.strikes.deadProcesses > 0 && attempt < ROLLOUTS_MAX) continue;
    expect(isRolled(rollout), JSON.stringify(rollout)).toBe(true);
    return;
  }
}, 360_000);

import { startCluster } from '@turnkeeper/test-harness';
import { expect, inject, test } from 'vitest';
import { isRolled, ROLLING_ENV, rollOut } from './rolling.ts';
import { CLEAN } from './stage.ts';

const SETTINGS = { retry: 2, timeout: 240_000 };

/**
 * The short form of `npm run chaos -- --rolling`, without processes. On a machine that stands still for a whole lease a worker
 * is declared dead that only was not heard, which is no fault of the rollout: then it is tried once more.
 */
test(
  'a rollout of every service loses, doubles, reorders and refuses nothing, and counts against no lane',
  SETTINGS,
  async () => {
    await using cluster = await startCluster({
      ...{ urls: inject('urls'), ingress: 2, workers: 2, coordinators: 2, mode: 'inline', env: ROLLING_ENV },
    });
    const rollout = await rollOut(cluster, cluster.nodes, { ratePerSecond: 30, lanes: 20, delayMs: 200 });
    expect(rollout).toMatchObject(CLEAN);
    expect(rollout.report.answered).toBe(rollout.report.sent);
    expect(isRolled(rollout), JSON.stringify(rollout)).toBe(true);
  },
);

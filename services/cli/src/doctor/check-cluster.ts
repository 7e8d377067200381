import { type Worker, WorkerListSchema } from '@turnkeeper/protocol';
import { callApi } from '../api.ts';
import { sentenceOf } from '../exit.ts';
import type { Finding } from './finding.ts';

const STALE_MS = 5000;

/** The processes, as an ingress sees them: who is alive, who leads, whether each partition has an owner. */
export async function checkCluster(
  operator: { readonly url: string; readonly key: string } | null,
): Promise<Finding[]> {
  if (!operator) {
    return [{ name: 'cluster', state: 'unknown', found: 'address not known', advice: 'start one with: npm start' }];
  }
  try {
    const { data } = WorkerListSchema.parse(
      await callApi({ ...operator, path: '/admin/v1/workers?state=live&limit=200' }),
    );
    const live = data.filter(({ beatAt }) => Date.now() - Date.parse(beatAt) < STALE_MS);
    return [ingressFinding(live), workerFinding(live), coordinatorFinding(live)];
  } catch (err) {
    return [{ name: 'cluster', state: 'bad', found: sentenceOf(err), advice: 'start one with: npm start' }];
  }
}

function ingressFinding(live: readonly Worker[]): Finding {
  const count = live.filter(({ kind }) => kind === 'ingress').length;
  return { name: 'ingress', state: count > 0 ? 'ok' : 'bad', found: `${count} alive` };
}

function workerFinding(live: readonly Worker[]): Finding {
  const workers = live.filter(({ kind }) => kind === 'session-worker');
  const partitions = workers.reduce((sum, worker) => sum + worker.partitions.length, 0);
  const found = `${workers.length} alive, ${partitions} partitions owned`;
  if (workers.length > 0) return { name: 'session-worker', state: 'ok', found };
  return { name: 'session-worker', state: 'bad', found, advice: 'start one: messages are accepted and wait' };
}

function coordinatorFinding(live: readonly Worker[]): Finding {
  const coordinators = live.filter(({ kind }) => kind === 'coordinator');
  const leads = coordinators.some(({ leader }) => leader);
  const found = `${coordinators.length} alive, ${leads ? 'one leads' : 'none leads'}`;
  if (coordinators.length > 1 && leads) return { name: 'coordinator', state: 'ok', found };
  if (coordinators.length === 0)
    return { name: 'coordinator', state: 'bad', found, advice: 'start two: nobody repairs' };
  return { name: 'coordinator', state: 'warn', found, advice: 'run two, so that one takes over from the other' };
}

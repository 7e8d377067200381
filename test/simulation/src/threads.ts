import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Found, simulate } from './simulate.ts';

/** Runs the seeds from `first` on, over all cores. Rejects when a thread dies. */
export async function simulateAll(first: number, runs: number): Promise<readonly Found[]> {
  const threads = Math.min(runs, availableParallelism());
  const share = (n: number) => Array.from({ length: runs }, (_, i) => first + i).filter((_, i) => i % threads === n);
  const found = await Promise.all(Array.from({ length: threads }, (_, n) => inThread(share(n))));
  return found.flat().sort((a, b) => a.seed - b.seed);
}

function inThread(seeds: readonly number[]): Promise<readonly Found[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Found[]>();
  const thread = new Worker(new URL(import.meta.url), { workerData: seeds });
  thread.once('message', resolve);
  thread.once('error', reject);
  return promise;
}

if (!isMainThread && Array.isArray(workerData)) parentPort?.postMessage(await simulate(workerData));

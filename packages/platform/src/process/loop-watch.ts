import { Worker } from 'node:worker_threads';
import type { LoopWatchOrder } from './loop-watch.thread.ts';

const BEATS_PER_LIMIT = 20;

/**
 * Ends this process when its event loop does not turn for `limitMs`: a thread of its own watches a beat that the loop makes
 * (`loop-watch.thread.ts`). A blocked loop can do nothing about itself, answers no probe and renews no lease.
 */
export function watchEventLoop(
  order: Omit<LoopWatchOrder, 'beats' | 'tickMs'>,
  /** The thread has ended by a fault; the process goes on without it. */
  onFailed: (error: unknown) => void,
): Disposable {
  const tickMs = Math.max(20, Math.min(500, Math.floor(order.limitMs / BEATS_PER_LIMIT)));
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const timer = setInterval(() => Atomics.add(beats, 0, 1), tickMs).unref();
  const thread = new Worker(new URL('./loop-watch.thread.ts', import.meta.url), {
    workerData: { ...order, tickMs, beats } satisfies LoopWatchOrder,
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    env: {},
  });
  thread.unref();
  thread.on('error', onFailed);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      void thread.terminate();
    },
  };
}

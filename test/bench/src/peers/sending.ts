import { setTimeout as sleep } from 'node:timers/promises';
import { nowMs } from './workload.ts';

/** Sends number `i` of the run, which was due then (monotonic), and resolves when it is acknowledged. */
export type Send = (i: number, dueMs: number) => Promise<void>;

/**
 * Closed loop: `outstanding` loops, each with lanes of its own, so that the sends of a lane never race each other. Resolves
 * with the milliseconds that each acknowledgement took.
 */
export async function sendClosed(
  load: { readonly lanes: number; readonly messages: number; readonly outstanding: number },
  send: Send,
): Promise<number[]> {
  const took: number[] = [];
  const { lanes, messages } = load;
  const loops = Math.min(load.outstanding, lanes);
  const loop = async (first: number) => {
    for (let base = 0; base < messages; base += lanes) {
      for (let lane = first; lane < lanes && base + lane < messages; lane += loops) {
        const sentMs = nowMs();
        await send(base + lane, sentMs);
        took.push(nowMs() - sentMs);
      }
    }
  };
  await Promise.all(Array.from({ length: loops }, (_, first) => loop(first)));
  return took;
}

/** Open loop: each at its time; a lane's own sends wait for each other, and the wait counts. */
export async function sendOpen(
  load: { readonly lanes: number; readonly messages: number; readonly perSecond: number },
  send: Send,
): Promise<number[]> {
  const took: number[] = [];
  const lastOf = new Map<number, Promise<void>>();
  const all: Promise<void>[] = [];
  const startMs = nowMs();
  for (let i = 0; i < load.messages; ) {
    const due = Math.min(load.messages, Math.floor(((nowMs() - startMs) * load.perSecond) / 1000) + 1);
    for (; i < due; i++) {
      const dueMs = startMs + (i * 1000) / load.perSecond;
      const lane = i % load.lanes;
      const number = i;
      const one = (lastOf.get(lane) ?? Promise.resolve())
        .then(() => send(number, dueMs))
        .then(() => void took.push(nowMs() - dueMs));
      lastOf.set(lane, one);
      all.push(one);
    }
    await sleep(1);
  }
  await Promise.all(all);
  return took;
}

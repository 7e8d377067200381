/** A worker process of one peer: handles, and judges order, duplicates and overlap. Started by `measurePeer`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Addresses, Message, Peer, Run } from '../../peers/peer.ts';
import { nowMs, spread } from './workload.ts';

/** What a worker is started with. */
export interface WorkerTask {
  readonly peer: string;
  readonly at: Addresses;
  readonly run: Run;
  readonly handlerMs: number;
  /** Messages numbered from here on count; those before are the hot lane's backlog. */
  readonly countedFrom: number;
  readonly expected: number;
}

/** What it answers to `report`. */
export interface WorkerReport {
  readonly handled: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly start: ReturnType<typeof spread>;
  readonly duplicates: number;
  readonly outOfOrder: number;
  readonly overlapping: number;
}

const task: WorkerTask = JSON.parse(process.argv[2] ?? '{}');
const { peer } = (await import(new URL(`../../peers/${task.peer}.ts`, import.meta.url).href)) as { peer: Peer };
const seen = new Set<number>();
const next = new Map<number, number>();
const active = new Map<number, number>();
const delays: number[] = [];
const counts = { duplicates: 0, outOfOrder: 0, overlapping: 0 };
let firstMs = 0;
let lastMs = 0;

const worker = await peer.worker(task.at, task.run, async (message: Message) => {
  // left over from a run before
  if (!message.key.startsWith(`${task.run.id}-`)) return;
  const startedMs = nowMs();
  begin(message, startedMs);
  if (task.handlerMs > 0) await sleep(task.handlerMs);
  active.set(message.lane, (active.get(message.lane) ?? 0) - 1);
  if (delays.length >= task.expected) process.send?.('done');
});

function begin(message: Message, startedMs: number): void {
  const running = active.get(message.lane) ?? 0;
  active.set(message.lane, running + 1);
  if (running > 0) counts.overlapping++;
  if (seen.has(message.number)) counts.duplicates++;
  else {
    seen.add(message.number);
    const expected = next.get(message.lane) ?? 0;
    if (message.inLane !== expected) counts.outOfOrder++;
    next.set(message.lane, Math.max(expected, message.inLane + 1));
    if (message.number < task.countedFrom) return;
    delays.push(startedMs - message.dueMs);
    firstMs ||= startedMs;
    lastMs = startedMs;
  }
}

process.on('message', async (order) => {
  if (order === 'report') {
    const report: WorkerReport = { handled: delays.length, firstMs, lastMs, start: spread(delays), ...counts };
    process.send?.(report);
    return;
  }
  await Promise.race([worker.stop(), sleep(1_500)]);
  process.exit(0);
});
process.send?.('ready');

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, Peer, Run } from '../../peers/peer.ts';
import type { WorkerReport, WorkerTask } from './peer-worker.ts';
import { sendClosed, sendOpen } from './sending.ts';
import type { PeerServers } from './servers.ts';
import { nowMs, type Outcome, spread, type Workload } from './workload.ts';

const CONCURRENCY = 64;
const TEXT = 'a message of a benchmark, about as long as what people write. '.repeat(3);
/** A run ends then, and what was not handled counts as missing. */
const RUN_MS = 40_000;
/** Those beside a hot lane that were not begun this long after the last was sent count as missing. */
const BESIDE_GRACE_MS = 5_000;
const SETTLE_MS = 300;
const WARM_LANE = 1_000_000;
const WARM_LANES = 100;

/** One run of one peer: this process sends, another handles. @throws Error when the peer refuses or its worker dies */
export async function measurePeer(name: string, servers: PeerServers, load: Workload): Promise<Outcome> {
  const { peer } = (await import(new URL(`../../peers/${name}.ts`, import.meta.url).href)) as { peer: Peer };
  if (name === 'restate') await servers.freshRestate();
  const at = servers.addresses;
  await peer.reset(at);
  const backlog = load.pace.kind === 'beside' ? load.pace.backlog : 0;
  // Turnkeeper's processes are warm, too
  const warm = load.pace.kind === 'closed' || load.pace.kind === 'open' ? Math.round(load.messages / 20) : 0;
  const storedFirst = load.pace.kind === 'hot' || backlog > 0;
  const run: Run = { id: randomBytes(4).toString('hex'), storedFirst, concurrency: CONCURRENCY };
  const task: WorkerTask = {
    ...{ peer: name, at, run, handlerMs: load.handlerMs },
    ...{ countedFrom: backlog + warm, expected: load.messages },
  };
  const producer = await peer.producer(at, run);
  const inLane = new Map<number, number>();
  const send = (number: number, lane: number, dueMs: number): Promise<void> => {
    const message: Message = {
      ...{ number, lane, dueMs, key: `${run.id}-${lane}`, text: TEXT },
      inLane: inLane.get(lane) ?? 0,
    };
    inLane.set(lane, message.inLane + 1);
    return producer.send(message);
  };
  const hotLane = load.lanes;
  const stored = backlog > 0 ? backlog : load.pace.kind === 'hot' ? load.messages : 0;
  for (let i = 0; i < stored; i++) await send(i, hotLane, nowMs());
  const child = startWorker(task);
  try {
    await child.ready;
    for (let i = 0; i < warm; i++) await send(i, WARM_LANE + (i % WARM_LANES), nowMs());
    await sleep(SETTLE_MS);
    const startMs = nowMs();
    const took = await sendAll(load, (i, dueMs) => send(backlog + warm + i, i % load.lanes, dueMs));
    const graceMs = backlog > 0 ? BESIDE_GRACE_MS : RUN_MS - (nowMs() - startMs);
    await Promise.race([child.done, sleep(Math.max(graceMs, 0))]);
    // duplicates that come late
    await sleep(SETTLE_MS);
    return outcomeOf(await child.report(), { load, startMs, took });
  } finally {
    await child.stop();
    await producer.close();
  }
}

async function sendAll(load: Workload, send: (i: number, dueMs: number) => Promise<void>): Promise<number[]> {
  const { pace, lanes, messages } = load;
  if (pace.kind === 'hot') return [];
  if (pace.kind === 'closed') return sendClosed({ lanes, messages, outstanding: pace.outstanding }, send);
  return sendOpen({ lanes, messages, perSecond: pace.perSecond }, send);
}

function outcomeOf(
  report: WorkerReport,
  { load, startMs, took }: { load: Workload; startMs: number; took: readonly number[] },
): Outcome {
  const { handled, firstMs, lastMs, start, duplicates, outOfOrder, overlapping } = report;
  const isHot = load.pace.kind === 'hot';
  return {
    perSecond: (handled * 1000) / (lastMs - (isHot ? firstMs : startMs)),
    accept: spread(took),
    start: isHot ? null : start,
    missing: load.messages - handled,
    ...{ duplicates, outOfOrder, overlapping },
  };
}

function startWorker(task: WorkerTask) {
  const main = new URL('./peer-worker.ts', import.meta.url);
  const child: ChildProcess = fork(main, [JSON.stringify(task)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the worker of ${task.peer} ended with ${code}`);
  });
  const says = (what: string) =>
    new Promise<void>((resolve) => child.on('message', (message) => message === what && resolve()));
  const ready = Promise.race([says('ready'), died]);
  const done = Promise.race([says('done'), died]);
  // stopped in the end, which is no fault then
  done.catch(() => undefined);
  return {
    ready,
    done,
    async report(): Promise<WorkerReport> {
      const answer = once(child, 'message', { signal: AbortSignal.timeout(10_000) });
      child.send('report');
      const [report] = await answer;
      return report === 'done' ? (await once(child, 'message', { signal: AbortSignal.timeout(10_000) }))[0] : report;
    },
    async stop(): Promise<void> {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.send('exit');
      const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await gone;
      clearTimeout(timer);
    },
  };
}

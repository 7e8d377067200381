/** The thread behind `watchEventLoop`. It imports nothing but Node, so that it costs little. */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';

export interface LoopWatchOrder {
  /** The loop may stand still for so long. */
  readonly limitMs: number;
  readonly tickMs: number;
  /** One number that the loop raises at every tick. */
  readonly beats: Int32Array;
  readonly exitCode: number;
  /** Of every log line: service, version, bootId. */
  readonly fields: Readonly<Record<string, string>>;
}

const STDOUT = 1;
const LAST_RESORT_MS = 2_000;

watch(workerData as LoopWatchOrder);

/**
 * Counts its own ticks without a beat of the loop, not the time: when the whole process was stopped or starved, this
 * thread was too.
 */
function watch(order: LoopWatchOrder): void {
  const ticksMax = Math.ceil(order.limitMs / order.tickMs);
  let last = Atomics.load(order.beats, 0);
  let still = 0;
  const timer = setInterval(() => {
    const beat = Atomics.load(order.beats, 0);
    still = beat === last ? still + 1 : 0;
    last = beat;
    if (still < ticksMax) return;
    clearInterval(timer);
    endProcess(order);
  }, order.tickMs);
}

/**
 * The inspector interrupts the main thread where it stands: it says where that is, and leaves from there. Signals would not
 * do in a container whose first process this is. Where even that is not heard, inside a call of the system, the kernel ends
 * the process; not the first of a container, which a probe ends, or an init in front of it (deploy).
 */
function endProcess({ limitMs, exitCode, fields }: LoopWatchOrder): void {
  const main = new Session();
  main.connectToMainThread();
  main.post('Runtime.evaluate', { expression: 'new Error().stack' }, (_error, answer) => {
    const stack = String(answer?.result?.value ?? '');
    const at = stack
      .split('\n')
      .slice(2, 14)
      .map((line) => line.trim().slice(3));
    try {
      log({ ...fields, seconds: limitMs / 1000, at }, 'the event loop stands still; the process ends');
    } finally {
      main.post('Runtime.evaluate', { expression: `process.reallyExit(${exitCode})` });
    }
  });
  setTimeout(() => {
    try {
      log(
        { ...fields, seconds: limitMs / 1000 },
        'the event loop stands still in a system call; the process is killed',
      );
    } finally {
      process.kill(process.pid, 'SIGKILL');
    }
  }, LAST_RESORT_MS);
}

/** Straight to the descriptor: what a thread prints goes through the main thread, which stands still. */
function log(fields: Readonly<Record<string, unknown>>, msg: string): void {
  const line = { level: 'error', time: new Date().toISOString(), ...fields, code: 'internal', msg };
  writeSync(STDOUT, `${JSON.stringify(line)}\n`);
}

import { AppError } from '@turnkeeper/core';
import { type ConfigOf, type ConfigOption, type ConfigTable, loadConfig } from '../config/index.ts';
import { systemClock } from './clock.ts';
import { nodeNameOf, processTable } from './config.ts';
import { createKit, type Kit } from './kit.ts';
import { watchEventLoop } from './loop-watch.ts';
import type { Compose, ProcessMessage, Service } from './service.ts';
import { EXIT_STUCK, StuckError } from './vitals.ts';

/** After the drain's deadline, what is left to hand work back; and after that, to close connections. */
const HAND_BACK_MS = 10_000;
const DISPOSE_MS = 5_000;
const TRACES_MS = 2_500;
/** What a process may need beyond its drain until it is gone: whoever kills what is late waits `drainTimeoutMs` and this. */
export const END_AFTER_DRAIN_MS = HAND_BACK_MS + DISPOSE_MS + TRACES_MS + DISPOSE_MS;

/**
 * The life of a service's process:
 *
 *   read config → compose → start → ready → (SIGTERM | SIGINT) → drain → dispose → the event loop empties
 *
 * A second signal ends the drain's patience. `kit.fail`, an uncaught error or a vanished parent skip the drain and end
 * with code 1; so does a process that makes no progress, with code 70. `process.exit` is called only when something holds
 * the loop open after everything was disposed.
 * A start that fails prints one sentence and ends with code 1.
 */
export async function runProcess<Options extends Record<string, ConfigOption<unknown>>>(from: {
  readonly name: string;
  readonly schema: ConfigTable<Options>;
  readonly compose: Compose<ConfigOf<ConfigTable<Options>>>;
}): Promise<void> {
  const end = watchForTheEnd();
  let kit: Kit | undefined;
  try {
    const common = loadConfig(processTable);
    const config = loadConfig(from.schema);
    kit = createKit({
      service: from.name,
      nodeName: nodeNameOf(common),
      logLevel: common.logLevel,
      drainTimeoutMs: common.drainTimeoutMs,
      tracesUrl: common.tracesUrl,
      stuckMs: common.stuckMs,
      crashPoints: common.crashPoints,
      processMetrics: true,
      fail: end.fail,
    });
    using _ = common.loopBlockedMs === 0 ? null : watched(kit, common.loopBlockedMs);
    await live(await from.compose(config, kit), kit, end);
  } catch (err) {
    end.fail(err);
  }
  if (end.failed) reportFailure(from.name, end.failed.error, kit);
  end.unwatch();
  if (process.connected) process.disconnect();
  leaveWithin(DISPOSE_MS, kit);
}

/** Why and how a process ends. */
interface End {
  /** Aborted by the first signal or failure. */
  readonly wanted: AbortSignal;
  /** Aborted by a second signal, and by a failure. */
  readonly hastened: AbortSignal;
  readonly failed: { readonly error: unknown } | null;
  readonly fail: (error: unknown) => void;
  readonly unwatch: () => void;
}

function watchForTheEnd(): End {
  const wanted = new AbortController();
  const hastened = new AbortController();
  let failed: { readonly error: unknown } | null = null;
  const fail = (error: unknown) => {
    failed ??= { error };
    process.exitCode = error instanceof StuckError ? EXIT_STUCK : 1;
    wanted.abort();
    hastened.abort();
  };
  const onSignal = () => (wanted.signal.aborted ? hastened.abort() : wanted.abort());
  const onDisconnect = () =>
    fail(new AppError({ code: 'internal', message: 'the process that started this one is gone' }));
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('disconnect', onDisconnect);
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  return {
    wanted: wanted.signal,
    hastened: hastened.signal,
    get failed() {
      return failed;
    },
    fail,
    unwatch: () => {
      process.off('disconnect', onDisconnect);
      // the signal handlers stay: a late second signal must not kill a process that is closing its connections
    },
  };
}

async function live(service: Service, kit: Kit, end: End): Promise<void> {
  const { logger, readiness } = kit;
  // there from the start, so that who watches it knows its name
  kit.metrics.gauge('drain_duration_seconds');
  try {
    const started = service.start(end.wanted);
    const listening = await orAborted(started, end.wanted);
    if (listening === 'aborted') {
      const settled = started.catch((err: unknown) => logger.failed(err, {}, 'the start was given up'));
      await within(DISPOSE_MS, settled, () => logger.error({}, 'the start does not obey its signal'));
      return;
    }
    readiness.enter('ready');
    tellParent({ type: 'ready', bootId: kit.bootId, ...listening });
    logger.info({ ...listening }, 'ready');
    await kit.vitals.run(end.wanted, end.fail);
    readiness.enter('draining');
    if (!end.failed) await drain(service, kit, end);
  } finally {
    const disposed = service[Symbol.asyncDispose]();
    await within(DISPOSE_MS, disposed, () => logger.error({}, 'closing connections took too long'));
    await within(TRACES_MS, kit.tracer[Symbol.asyncDispose](), () => logger.warn({}, 'the last spans were not taken'));
  }
}

function watched({ service, version, bootId, logger }: Kit, limitMs: number): Disposable {
  const onFailed = (error: unknown) => logger.failed(error, {}, 'the event loop is not watched');
  return watchEventLoop({ limitMs, exitCode: EXIT_STUCK, fields: { service, version, bootId } }, onFailed);
}

async function drain(service: Service, kit: Kit, end: End): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  const span = kit.tracer.start('drain');
  kit.logger.info({}, 'draining');
  const patience = AbortSignal.any([AbortSignal.timeout(kit.drainTimeoutMs), end.hastened]);
  const drained = service.drain(patience);
  if ((await orAborted(drained, patience)) === 'aborted') {
    await within(HAND_BACK_MS, drained, () => kit.logger.error({}, 'handing work back took too long'));
  }
  span.end();
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  kit.metrics.gauge('drain_duration_seconds').set(seconds);
  kit.logger.info({ seconds }, 'drained');
}

/** The promise's value, or `aborted` when the signal comes first; the promise's later failure is then not ours. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  return Promise.race([promise, aborted(signal).then(() => 'aborted' as const)]);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Waits for the work, but no longer than `ms`; then says so and goes on without it. */
async function within(ms: number, work: PromiseLike<unknown>, onLate: () => void): Promise<void> {
  const done = new AbortController();
  const timer = systemClock.sleep(ms, done.signal).then(() => 'late' as const);
  const outcome = await Promise.race([work, timer]);
  done.abort();
  if (outcome === 'late') onLate();
}

function reportFailure(name: string, error: unknown, kit: Kit | undefined): void {
  const ready = kit !== undefined && kit.readiness.phase !== 'starting';
  const sentence = `${name}: ${sentenceOf(error, ready)}`;
  kit?.logger.failed(error, {}, 'the process ends');
  process.stderr.write(`${sentence}\n`);
  tellParent({ type: 'fatal', code: codeOf(error), message: sentence });
}

/** Foreign errors may quote what a person wrote; before the first request there was none. */
function sentenceOf(error: unknown, ready: boolean): string {
  if (!(error instanceof Error)) return 'something other than an error was thrown';
  if (error instanceof AppError || !ready) return error.message || error.name;
  return `ended by an unexpected ${error.name}; its log line says where`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function tellParent(message: ProcessMessage): void {
  if (process.connected) process.send?.(message);
}

/** The loop should be empty now; what still holds it after the deadline is named and cut off. */
function leaveWithin(ms: number, kit: Kit | undefined): void {
  const leave = () => {
    kit?.logger.warn({ held: process.getActiveResourcesInfo().join(' ') }, 'something holds the event loop open');
    process.exit(process.exitCode ?? 0);
  };
  setTimeout(leave, ms).unref();
}

import type {
  BootId,
  Clock,
  ControlSignals,
  Ids,
  LaneRunner,
  Logger,
  OwnershipStore,
  Repeated,
  ReplyDeliverer,
  Scheduler,
  Turns,
} from '@turnkeeper/core';
import { repeat, StoreError } from '@turnkeeper/core';
import type { Listening, ProbeServer, Service } from '@turnkeeper/platform/process';
import type { Databases } from './databases.ts';
import type { Membership } from './loops/membership.ts';

export interface WorkerServiceParts {
  readonly bootId: BootId;
  readonly nodeName: string;
  readonly version: string;
  readonly turnSlots: number;
  readonly databases: Databases;
  /** Opens connections and prepares what the first turn needs. */
  readonly warmUp: () => Promise<unknown>;
  readonly ownership: Pick<OwnershipStore, 'register'>;
  readonly membership: Membership;
  readonly scheduler: Pick<Scheduler, 'size'>;
  readonly turns: Turns;
  readonly runner: LaneRunner;
  readonly deliverer: ReplyDeliverer;
  readonly signals: ControlSignals;
  /** Run from the start to the end, while draining, too. */
  readonly loops: readonly Repeated[];
  readonly probes: ProbeServer;
  readonly listenAt: { readonly host: string; readonly port: number };
  /** Closed in this order at the end. */
  readonly closing: readonly AsyncDisposable[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const LOOK_MS = 20;
const AGAIN_MS = 500;
/** What a drained worker waits for the answers to its last hand-backs and sends. */
const LAST_ANSWERS_MS = 8_000;

/**
 * The life of a session-worker (protocol: leave). Draining: leaving → consumers closed, partitions released → waiting
 * lanes told to their next owners → running turns end, or are handed back at the limit → sends in hand end → gone, and a
 * goodbye. Heartbeat, polls and locks go on to the end.
 */
export class WorkerService implements Service {
  readonly #parts: WorkerServiceParts;
  readonly #stop = new AbortController();
  readonly #unlisten: (() => void)[] = [];
  #running: readonly Promise<void>[] = [];

  constructor(parts: WorkerServiceParts) {
    this.#parts = parts;
  }

  async start(signal: AbortSignal): Promise<Listening> {
    const { bootId, nodeName, version, turnSlots, databases, ownership, membership, turns, deliverer } = this.#parts;
    await databases.ready(this.#parts, signal);
    await this.#untilDone(() => this.#parts.warmUp(), signal);
    await this.#untilDone(() => membership.refreshSlotMap(), signal);
    this.#unlisten.push(
      this.#parts.signals.onStopTurn((turnId) => turns.stop(turnId)),
      this.#parts.signals.onGoodbye((gone) => membership.saidGoodbye(gone)),
    );
    const internalPort = await this.#parts.probes.listen(this.#parts.listenAt);
    const row = { bootId, kind: 'session-worker', name: nodeName, pid: process.pid, version, turnSlots } as const;
    await this.#untilDone(() => ownership.register(row), signal);
    await this.#untilDone(() => membership.beat(), signal);
    this.#running = [
      ...this.#parts.loops.map((loop) => repeat(loop, this.#parts, this.#stop.signal)),
      deliverer.run(this.#stop.signal),
    ];
    return { internalPort };
  }

  async drain(signal: AbortSignal): Promise<void> {
    const { bootId, membership, runner, turns, deliverer, signals, clock } = this.#parts;
    await this.#tryFor(LAST_ANSWERS_MS, () => membership.leave());
    runner.giveAway(() => true);
    await this.#untilEmpty(signal, () => turns.drain('shutdown', false));
    turns.drain('shutdown', true);
    await this.#untilEmpty(AbortSignal.timeout(LAST_ANSWERS_MS));
    await Promise.race([deliverer.idle(), clock.sleep(LAST_ANSWERS_MS, this.#stop.signal)]);
    await this.#tryFor(LAST_ANSWERS_MS, () => membership.gone());
    signals.sayGoodbye(bootId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { runner, deliverer, membership, probes, databases, closing } = this.#parts;
    this.#stop.abort();
    for (const unlisten of this.#unlisten) unlisten();
    await Promise.all([runner.stop(), deliverer.stop()]);
    await membership.close();
    await Promise.all(this.#running);
    for (const part of [probes, ...closing, databases]) await part[Symbol.asyncDispose]();
  }

  async #untilEmpty(signal: AbortSignal, look?: () => void): Promise<void> {
    const { scheduler, clock } = this.#parts;
    while (scheduler.size > 0 && !signal.aborted) {
      look?.();
      await clock.sleep(LOOK_MS, signal);
    }
  }

  /** What the store must take, again until it does. @throws StoreError when the signal aborts first */
  async #untilDone(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    const { clock, ids } = this.#parts;
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || !error.retryable || signal.aborted) throw error;
        await clock.sleep(AGAIN_MS * (0.5 + ids.random() / 2), signal);
      }
    }
  }

  /** What is better said than left to the lease that runs out. */
  async #tryFor(ms: number, work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#untilDone(work, AbortSignal.timeout(ms));
    } catch (error) {
      this.#parts.logger.failed(error, {}, 'could not leave in order; the lease runs out by itself');
    }
  }
}

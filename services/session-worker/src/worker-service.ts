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
import { repeat } from '@turnkeeper/core';
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
  readonly ownership: Pick<OwnershipStore, 'register' | 'gone'>;
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
    await this.#parts.warmUp();
    await membership.refreshSlotMap();
    this.#unlisten.push(
      this.#parts.signals.onStopTurn((turnId) => turns.stop(turnId)),
      this.#parts.signals.onGoodbye((gone) => membership.saidGoodbye(gone)),
    );
    const internalPort = await this.#parts.probes.listen(this.#parts.listenAt);
    await ownership.register({ bootId, kind: 'session-worker', name: nodeName, pid: process.pid, version, turnSlots });
    await membership.beat();
    this.#running = [
      ...this.#parts.loops.map((loop) => repeat(loop, this.#parts, this.#stop.signal)),
      deliverer.run(this.#stop.signal),
    ];
    return { internalPort };
  }

  async drain(signal: AbortSignal): Promise<void> {
    const { bootId, membership, runner, turns, deliverer, ownership, signals, logger } = this.#parts;
    await this.#untilDone(() => membership.leave());
    runner.giveAway(() => true);
    await this.#untilEmpty(signal);
    turns.endAll({ how: 'given_back', reason: 'shutdown_timeout' });
    await this.#untilEmpty(AbortSignal.timeout(LAST_ANSWERS_MS));
    await Promise.race([deliverer.idle(), this.#parts.clock.sleep(LAST_ANSWERS_MS, this.#stop.signal)]);
    try {
      await ownership.gone(bootId);
      signals.sayGoodbye(bootId);
    } catch (error) {
      logger.failed(error, {}, 'could not say goodbye; the lease runs out by itself');
    }
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

  async #untilEmpty(signal: AbortSignal): Promise<void> {
    const { scheduler, clock } = this.#parts;
    while (scheduler.size > 0 && !signal.aborted) await clock.sleep(LOOK_MS, signal);
  }

  /** The store may be away just now: what leaves must be said, so it is said again, for as long as a lease. */
  async #untilDone(work: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (tries === 6) return logger.failed(error, {}, 'could not leave in order; the lease runs out by itself');
        await clock.sleep(500);
      }
    }
  }
}

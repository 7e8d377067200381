import type { BootId, Clock, Ids, Logger, OwnershipStore } from '@turnkeeper/core';
import type { Listening, ProbeServer, Service } from '@turnkeeper/platform/process';
import { untilReady } from '@turnkeeper/storage';
import type { Databases } from './databases.ts';
import type { LeaderLoop } from './leader/leader-loop.ts';

export interface CoordinatorServiceParts {
  readonly bootId: BootId;
  readonly nodeName: string;
  readonly version: string;
  readonly databases: Databases;
  readonly ownership: Pick<OwnershipStore, 'register' | 'gone'>;
  readonly leader: LeaderLoop;
  readonly probes: ProbeServer;
  readonly listenAt: { readonly host: string; readonly port: number };
  /** Closed in this order at the end. */
  readonly closing: readonly AsyncDisposable[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** The life of a coordinator. Draining is giving back the lease: the standby leads at its next look. */
export class CoordinatorService implements Service {
  readonly #parts: CoordinatorServiceParts;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: CoordinatorServiceParts) {
    this.#parts = parts;
  }

  async start(signal: AbortSignal): Promise<Listening> {
    const { bootId, databases, leader, listenAt, nodeName, ownership, probes, version } = this.#parts;
    await untilReady([databases.lease, databases.sweeps], this.#parts, signal);
    await ownership.register({ bootId, kind: 'coordinator', name: nodeName, pid: process.pid, version, turnSlots: 0 });
    this.#running = leader.run(this.#stop.signal);
    return { internalPort: await probes.listen(listenAt) };
  }

  async drain(): Promise<void> {
    const { bootId, logger, ownership } = this.#parts;
    this.#stop.abort();
    await this.#running;
    try {
      await ownership.gone(bootId);
    } catch (error) {
      logger.failed(error, {}, 'could not say goodbye; the lease runs out by itself');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { closing, databases, probes } = this.#parts;
    this.#stop.abort();
    await this.#running;
    for (const part of [probes, ...closing, databases]) await part[Symbol.asyncDispose]();
  }
}

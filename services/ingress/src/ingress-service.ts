import { type AcceptMessage, type Clock, type Ids, type Logger, type Repeated, repeat } from '@turnkeeper/core';
import type { Listening, Service } from '@turnkeeper/platform/process';
import type { FastifyInstance } from 'fastify';
import type { Databases } from './databases.ts';
import { type Address, closeGently, listen } from './http/listeners.ts';
import type { NodeRow } from './node/node-row.ts';
import type { SlotMap } from './node/slot-map.ts';
import type { RunWaiters } from './runs/run-waiters.ts';
import type { OpenSockets } from './sockets/open-sockets.ts';
import type { LaneChanges } from './streams/lane-changes.ts';
import type { OpenStreams } from './streams/open-streams.ts';

interface Listener {
  readonly app: FastifyInstance;
  readonly at: Address;
}

export interface IngressServiceParts {
  /** The public one first. */
  readonly listeners: readonly [Listener, Listener];
  readonly databases: Databases;
  /** How long a draining node still takes requests, for load balancers to see that it is not ready. */
  readonly lameDuckMs: number;
  /** Opens connections and prepares what the first request needs. */
  readonly warmUp: () => Promise<void>;
  readonly acceptMessage: Pick<AcceptMessage, 'close'>;
  readonly waiters: Pick<RunWaiters, 'drain'>;
  readonly openStreams: Pick<OpenStreams, 'drain' | 'run'>;
  readonly openSockets: Pick<OpenSockets, 'drain'> & Disposable;
  readonly laneChanges: Pick<LaneChanges, 'run'>;
  readonly slots: SlotMap;
  readonly node: NodeRow;
  readonly loops: readonly Repeated[];
  readonly rateLimits: Disposable;
  /** Closed in this order at the end. */
  readonly closing: readonly AsyncDisposable[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** Accepted messages that wait for their batch get this long at the end. */
const LAST_BATCH_MS = 5_000;

/**
 * The life of an ingress. Draining: it is not ready any more; those who wait are answered with what is so, and streams are
 * told to reconnect, a few at a time, and work until then. Requests are taken as before for the time that load balancers need
 * to look elsewhere, but each on a connection that ends with its answer; then there are no new connections, and what is in
 * flight is finished. Nothing that was accepted is lost: a 202 had its commit.
 */
export class IngressService implements Service {
  readonly #parts: IngressServiceParts;
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];

  constructor(parts: IngressServiceParts) {
    this.#parts = parts;
  }

  async start(signal: AbortSignal): Promise<Listening> {
    const { databases, slots, node, warmUp, listeners, loops, openStreams, laneChanges } = this.#parts;
    await databases.ready(this.#parts, signal);
    await slots.refresh();
    await node.beat();
    await warmUp();
    this.#running = [
      ...loops.map((loop) => repeat(loop, this.#parts, this.#stop.signal)),
      openStreams.run(this.#stop.signal),
      laneChanges.run(this.#stop.signal),
    ];
    const [publicListener, internalListener] = listeners;
    const internalPort = await listen(internalListener.app, internalListener.at);
    const publicPort = await listen(publicListener.app, publicListener.at);
    return { publicPort, internalPort };
  }

  async drain(signal: AbortSignal): Promise<void> {
    const { listeners, lameDuckMs, node, openStreams, openSockets, waiters, acceptMessage, clock } = this.#parts;
    await this.#try(() => node.leave(), 'the node could not say that it leaves');
    const streamsEnd = openStreams.drain(signal);
    openSockets.drain();
    waiters.drain();
    await clock.sleep(lameDuckMs, signal);
    await Promise.all([streamsEnd, closeGently(listeners[0].app, clock, signal)]);
    await acceptMessage.close(LAST_BATCH_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { listeners, node, openSockets, rateLimits, closing, clock } = this.#parts;
    this.#stop.abort();
    openSockets[Symbol.dispose]();
    await Promise.all(listeners.map(({ app }) => closeGently(app, clock, AbortSignal.abort())));
    await Promise.all(this.#running);
    await this.#try(() => node.gone(), 'the node could not say that it is gone');
    rateLimits[Symbol.dispose]();
    for (const part of closing) await part[Symbol.asyncDispose]();
  }

  /** For what is only shown to people: a store that is away must not hold up the end. */
  async #try(work: () => Promise<void>, sentence: string): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.logger.failed(error, {}, sentence);
    }
  }
}

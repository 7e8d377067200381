import { type Clock, type Counter, noTracer, type Tracer, type WakeUp, type WakeUps } from '@turnkeeper/core';
import { WAKE_UP_LANES_MAX } from '@turnkeeper/protocol';
import { PartitionQueue } from './partition-queue.ts';
import type { RedisLink } from './redis-link.ts';
import { WakeUpSet } from './wake-up-set.ts';

export interface QueuedWakeUpsOptions {
  readonly link: RedisLink;
  readonly clock: Clock;
  /** `activations_total`, by outcome: queued, queue_away, queue_timeout, queue_backlog (all per job). */
  readonly outcomes: Counter;
  /** Without one nothing is traced. */
  readonly tracer?: Tracer;
}

/** Wake-ups of one partition wait this long for company. */
const COALESCE_MS = 200;
/** An add that is not answered by then is given up, with its lanes. */
const ADD_LIMIT_MS = 1000;

interface Outbox {
  readonly partition: number;
  readonly waiting: WakeUpSet;
  readonly queue: PartitionQueue;
  adding: boolean;
}

/**
 * The durable second path of wake-ups: one BullMQ job per partition, every 200 ms at most, that lists lanes with the
 * highest event of each. The hint over NATS is the fast one.
 *
 * Coalescing is this memory, bounded per partition, never BullMQ's deduplication, which keeps the last job's data and
 * so loses the lanes of those before it (protocol H13). One add per partition is in flight, so an add that hangs holds
 * back only its own partition, and only for a second. What is given up is counted: the owner's scan finds the lanes.
 */
export class QueuedWakeUps implements WakeUps, AsyncDisposable {
  readonly #options: QueuedWakeUpsOptions;
  readonly #outboxes = new Map<number, Outbox>();
  readonly #closing = new AbortController();
  #ticking: Promise<void> | null = null;
  readonly #adds = new Set<Promise<void>>();

  constructor(options: QueuedWakeUpsOptions) {
    this.#options = options;
  }

  wake(partition: number, wakeUps: readonly WakeUp[]): void {
    if (this.#options.link.away || this.#closing.signal.aborted) {
      this.#options.outcomes.inc({ outcome: 'queue_away' });
      return;
    }
    this.#outbox(partition).waiting.add(wakeUps);
    this.#ticking ??= this.#tick();
  }

  /** Sends what waits and resolves when it is answered or given up, within about a second. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#ticking;
    await Promise.all(this.#adds);
    for (const outbox of this.#outboxes.values()) outbox.queue.reset();
  }

  #outbox(partition: number): Outbox {
    let outbox = this.#outboxes.get(partition);
    if (outbox === undefined) {
      const queue = new PartitionQueue(this.#options.link, partition);
      outbox = { partition, waiting: new WakeUpSet(WAKE_UP_LANES_MAX), queue, adding: false };
      this.#outboxes.set(partition, outbox);
    }
    return outbox;
  }

  async #tick(): Promise<void> {
    await this.#options.clock.sleep(COALESCE_MS, this.#closing.signal);
    this.#ticking = null;
    let left = false;
    for (const outbox of this.#outboxes.values()) {
      if (outbox.waiting.isEmpty) continue;
      if (outbox.adding) left = true;
      else this.#track(this.#send(outbox));
    }
    // on closing there is no later tick: what waits behind an add in flight is left to the scan
    if (left && !this.#closing.signal.aborted) this.#ticking ??= this.#tick();
  }

  #track(add: Promise<void>): void {
    this.#adds.add(add);
    void add.finally(() => this.#adds.delete(add));
  }

  async #send(outbox: Outbox): Promise<void> {
    outbox.adding = true;
    const limit = new AbortController();
    const late = this.#options.clock.sleep(ADD_LIMIT_MS, limit.signal).then(() => 'timeout' as const);
    const wakeUps = outbox.waiting.take();
    const attributes = { partition: outbox.partition, lanes: wakeUps === 'scan' ? 0 : wakeUps.length };
    const span = (this.#options.tracer ?? noTracer).start('send tk.activations', { attributes });
    const outcome = await Promise.race([outbox.queue.add(wakeUps, span.traceparent), late]);
    span.end(outcome === 'added' ? undefined : outcome);
    limit.abort();
    if (outcome === 'timeout') outbox.queue.reset();
    this.#options.outcomes.inc({ outcome: outcome === 'added' ? 'queued' : `queue_${outcome}` });
    outbox.adding = false;
  }
}

import type { Traceparent, WakeUp } from '@turnkeeper/core';
import { type Activation, writeActivation } from '@turnkeeper/protocol';
import { Queue } from 'bullmq';
import { partitionTag } from './keys.ts';
import type { RedisLink } from './redis-link.ts';

/** Name of each partition's queue; its keys are `{<prefix>:<n>}:activations:…`. */
export const ACTIVATIONS = 'activations';
/** BullMQ keeps a log of a queue's life in Redis; nobody reads it. */
const LIFE_EVENTS_MAX = 10;
/** Jobs that may wait for a consumer: without one (all workers are down) more would only fill Redis. */
const BACKLOG_MAX = 1000;
const BACKLOG_LOOK_EVERY_ADDS = 16;

/** The producing side of one partition's BullMQ queue, on the process's one command connection. */
export class PartitionQueue {
  readonly #link: RedisLink;
  readonly #partition: number;
  #queue: Queue<Activation> | null = null;
  #addsToLook = 0;

  constructor(link: RedisLink, partition: number) {
    this.#link = link;
    this.#partition = partition;
  }

  /** Adds one job. `backlog`: enough jobs wait already, the consumer will scan when it comes. */
  add(wakeUps: readonly WakeUp[] | 'scan', traceparent: Traceparent | null): Promise<'added' | 'backlog' | 'away'> {
    return this.#link.run(async () => {
      const queue = this.#open();
      if (this.#addsToLook === 0 && (await queue.getWaitingCount()) > BACKLOG_MAX) return 'backlog';
      this.#addsToLook = (this.#addsToLook + 1) % BACKLOG_LOOK_EVERY_ADDS;
      await queue.add('lanes', writeActivation(wakeUps, traceparent));
      return 'added';
    });
  }

  /** Forgets BullMQ's queue object, which stays broken for ever when Redis went away while it was being set up. */
  reset(): void {
    const queue = this.#queue;
    this.#queue = null;
    // only takes listeners off: the connection is shared and stays open
    queue?.close().catch((error) => this.#link.note(error));
  }

  #open(): Queue<Activation> {
    if (this.#queue !== null) return this.#queue;
    const queue = new Queue<Activation>(ACTIVATIONS, {
      connection: this.#link.client,
      prefix: partitionTag(this.#link.keyPrefix, this.#partition),
      skipVersionCheck: true,
      streams: { events: { maxLen: LIFE_EVENTS_MAX } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    // whoever called learns it from the promise; without a listener Node would end the process
    queue.on('error', () => this.reset());
    this.#queue = queue;
    return queue;
  }
}

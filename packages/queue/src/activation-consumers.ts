import { type Clock, type Counter, type Ids, noTracer, type Tracer, type WakeUp } from '@turnkeeper/core';
import { readActivation, traceparentOfActivation } from '@turnkeeper/protocol';
import { type Job, WaitingError, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { partitionTag } from './keys.ts';
import { ACTIVATIONS } from './partition-queue.ts';
import { connectionOptions, type RedisLink } from './redis-link.ts';

export interface ActivationConsumersOptions {
  readonly url: string;
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly ids: Ids;
  /** `activations_total`, by outcome: received, malformed (per job). */
  readonly outcomes: Counter;
  /** Without one nothing is traced. */
  readonly tracer?: Tracer;
}

export interface ConsumeOptions {
  readonly partition: number;
  /** Called with what a job says; must only take note, the job is complete when it returns. */
  readonly onWakeUps: (wakeUps: readonly WakeUp[] | 'scan') => void;
}

export interface ActivationConsumer {
  /**
   * Takes no more jobs; a job that was already fetched goes back into the queue for the next owner. Resolves within
   * two seconds, also while Redis is away.
   */
  close(): Promise<void>;
}

interface Taker {
  readonly worker: Worker;
  /** The connection on which it waits for jobs; null until it has one. */
  blocking: { readonly status: string } | null;
}

const CLOSE_LIMIT_MS = 2000;
/** A connection that gets no data for this long is taken for dead; a blocking read returns every `BLOCK_SECONDS`. */
const SOCKET_TIMEOUT_MS = 10_000;
const BLOCK_SECONDS = 5;
/** After a lost connection; BullMQ's own default of 15 s would show in every outage. */
const RETRY_MS = 500;
/** Wake-ups may come twice, so a job whose consumer was killed is simply given to the next one. */
const STALLED_MAX = 10;

/**
 * Takes the activations of owned partitions: a BullMQ worker each, all on one connection for their commands, plus the
 * blocking connection that BullMQ needs for each. They wait out any absence of Redis, and go on after a FLUSHALL.
 */
export class ActivationConsumers implements AsyncDisposable {
  readonly #options: ActivationConsumersOptions;
  readonly #commands: Redis;
  readonly #open = new Map<ActivationConsumer, Taker>();
  #isClosed = false;

  /** Connects at once, and goes on trying. */
  constructor(options: ActivationConsumersOptions) {
    this.#options = options;
    this.#commands = new Redis(options.url, {
      ...connectionOptions(options),
      // BullMQ's rule: its commands wait for Redis, each worker has at most a few on their way
      maxRetriesPerRequest: null,
      socketTimeout: SOCKET_TIMEOUT_MS,
      // not lazily: a BullMQ worker whose first attempt to connect fails would never try again
      lazyConnect: false,
    });
    this.#commands.on('error', (error) => options.link.note(error));
  }

  consume(options: ConsumeOptions): ActivationConsumer {
    let closed: Promise<void> | null = null;
    const worker = this.#worker(options, () => closed !== null);
    const taker: Taker = { worker, blocking: null };
    void this.#learnBlocking(taker);
    const consumer: ActivationConsumer = {
      close: () => {
        closed ??= this.#close(worker).finally(() => this.#open.delete(consumer));
        return closed;
      },
    };
    this.#open.set(consumer, taker);
    return consumer;
  }

  /** True when jobs of an open partition will never come again: a client, or a worker's loop, has ended for good. */
  get isOver(): boolean {
    if (this.#isClosed) return false;
    return this.#commands.status === 'end' || [...this.#open.values()].some(isOver);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open.keys()].map((consumer) => consumer.close()));
    this.#commands.disconnect();
  }

  async #learnBlocking(taker: Taker): Promise<void> {
    try {
      taker.blocking = (await taker.worker.getBackend().blockingClient) ?? null;
    } catch (error) {
      this.#options.link.note(error);
    }
  }

  #worker({ partition, onWakeUps }: ConsumeOptions, isClosed: () => boolean): Worker {
    const worker = new Worker(
      ACTIVATIONS,
      async (job: Job, token?: string) => {
        if (isClosed()) return giveBack(job, token);
        this.#take(job, { partition, onWakeUps });
      },
      {
        connection: this.#commands,
        prefix: partitionTag(this.#options.link.keyPrefix, partition),
        skipVersionCheck: true,
        skipLockRenewal: true,
        drainDelay: BLOCK_SECONDS,
        runRetryDelay: RETRY_MS,
        maxStalledCount: STALLED_MAX,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    );
    worker.on('error', (error) => this.#options.link.note(error));
    return worker;
  }

  #take({ data }: Job, { partition, onWakeUps }: ConsumeOptions): void {
    const { outcomes, tracer = noTracer } = this.#options;
    const wakeUps = readActivation(data);
    const about = { parent: traceparentOfActivation(data), attributes: { partition } };
    const span = tracer.start('process tk.activations', about);
    outcomes.inc({ outcome: wakeUps === null ? 'malformed' : 'received' });
    if (wakeUps !== null) onWakeUps(wakeUps);
    span.end(wakeUps === null ? 'malformed' : undefined);
  }

  async #close(worker: Worker): Promise<void> {
    if (this.#options.link.away) return worker.close(true);
    const limit = new AbortController();
    const late = this.#options.clock.sleep(CLOSE_LIMIT_MS, limit.signal).then(() => 'late' as const);
    const outcome = await Promise.race([worker.close(), late]);
    limit.abort();
    // Redis went away meanwhile: without its blocking connection the worker can fetch nothing more
    if (outcome === 'late') await worker.getBackend().disconnectBlocking(false);
  }
}

function isOver({ worker, blocking }: Taker): boolean {
  return !worker.isRunning() || blocking?.status === 'end';
}

/** Puts a job that was fetched while its consumer closed back for the next owner. */
async function giveBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

import type { Clock, Ids } from '../clock.ts';
import { AppError, StoreError } from '../errors.ts';

export interface BatcherOptions<Item, Result> {
  /** For messages of errors. */
  readonly name: string;
  /**
   * One statement for many items; result i belongs to item i. It must be bounded in time, and safe to repeat with the
   * same items: that is how an unclear outcome is cleared up.
   */
  readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly itemsMax: number;
  /** A batch ends before it would pass this sum of `bytesOf`; a larger item goes alone. */
  readonly bytesMax?: number;
  readonly bytesOf?: (item: Item) => number;
  /** Items that may wait; above it `add` refuses. */
  readonly queueMax: number;
  /** Batches in flight at once; default 1, which alone keeps arrival order. */
  readonly flushesMax?: number;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Answers for the row at fault; `undefined`, or a throw, fails that item alone. */
  readonly onRowError: (item: Item, error: StoreError) => Result | undefined;
  /** Tries of a batch in all, and the pause between them: `baseMs` doubled each time up to `capMs`, half of it random. */
  readonly retry: { readonly attemptsMax: number; readonly baseMs: number; readonly capMs: number };
  /** Items with equal keys never share a batch, nor two batches in flight, and keep their order: for lanes. */
  readonly distinctBy?: (item: Item) => string;
  /** Told of every batch: its size, and how long its first item waited, in milliseconds. */
  readonly observe?: (size: number, waitMs: number) => void;
}

export interface AddOptions {
  /**
   * Milliseconds from now after which the item is no longer tried. Looked at before and after each try, so a caller
   * waits at most this long plus one flush.
   */
  readonly deadlineMs?: number;
  /** An item that still waits when it is aborted is dropped unsent; one in flight is answered by its flush. */
  readonly signal?: AbortSignal;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly key: string | undefined;
  readonly addedMs: number;
  readonly expiresMs: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: what arrives while a batch is in flight goes into the next one, so the busier the store, the larger
 * the batches. No item waits for company: an idle batcher flushes a lone item in the same tick, and holds no timer.
 *
 * With one flush in flight the order of arrival is kept, also over retries: a batch that failed is repeated with the
 * same items in the same order before anything later is sent (protocol: accept). How a batch ends (protocol I7):
 * - answered: each item gets its result.
 * - `row`: the batch is halved until the guilty item stands alone; only it is refused.
 * - `busy`: tried again after a pause; when the tries are used up it is halved, so that one stuck row delays and fails
 *   only itself (protocol H17).
 * - `unknown`: tried again with the same items until the tries or an item's deadline are used up; then that error.
 * - anything else is a fault of the program and fails the batch.
 */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #flushesMax: number;
  readonly #keysInFlight = new Set<string>();
  readonly #stop = new AbortController();
  #queue: Entry<Item, Result>[] = [];
  /** Index of the first waiting entry: taking from the front moves this, not the array. */
  #head = 0;
  #inFlight = 0;
  #answers = 0;
  #pumpDue = false;
  #closed = false;
  #onIdle: (() => void) | undefined;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
    this.#flushesMax = options.flushesMax ?? 1;
  }

  /**
   * Resolves with the item's own result once its batch is through.
   * @throws AppError `overloaded` (the queue is full, or the deadline passed unsent) or `draining` (closed): nothing
   *   was written. StoreError `unknown`: it may have been written. What `onRowError` throws.
   */
  add(item: Item, options?: AddOptions): Promise<Result> {
    if (this.#closed) return Promise.reject(this.#draining());
    if (this.#waiting() >= this.#options.queueMax) return Promise.reject(this.#overloaded('its queue is full'));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const addedMs = this.#options.clock.monotonicMs();
    this.#queue.push({
      item,
      key: this.#options.distinctBy?.(item),
      addedMs,
      expiresMs: addedMs + (options?.deadlineMs ?? Number.POSITIVE_INFINITY),
      signal: options?.signal,
      resolve,
      reject,
    });
    this.#schedulePump();
    return promise;
  }

  /**
   * Refuses new items and flushes the rest; resolves when all are answered. After `deadlineMs` what still waits is
   * refused and retries end, so only a flush that is in flight may outlive the call.
   */
  async close(deadlineMs: number): Promise<void> {
    this.#closed = true;
    if (this.#inFlight === 0 && this.#waiting() === 0) return;
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    const timer = new AbortController();
    await Promise.race([idle.promise, this.#options.clock.sleep(deadlineMs, timer.signal)]);
    timer.abort();
    this.#stop.abort();
    const rest = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    rejectAll(rest, this.#draining());
  }

  /** Whether anything waits or is in flight, and how many flushes were answered so far, rightly or not. */
  get progress(): { readonly isDue: boolean; readonly steps: number } {
    return { isDue: this.#inFlight > 0 || this.#waiting() > 0, steps: this.#answers };
  }

  #waiting(): number {
    return this.#queue.length - this.#head;
  }

  /** In a microtask, so that what is added in one go shares a batch. */
  #schedulePump(): void {
    if (this.#pumpDue || this.#inFlight >= this.#flushesMax) return;
    this.#pumpDue = true;
    queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#pumpDue = false;
    while (this.#inFlight < this.#flushesMax && this.#waiting() > 0) {
      const batch = this.#dropDead(this.#options.distinctBy === undefined ? this.#take() : this.#takeDistinct());
      if (batch === null) break;
      if (batch.length > 0) void this.#run(batch);
    }
    if (this.#inFlight === 0 && this.#waiting() === 0) this.#onIdle?.();
  }

  #take(): Entry<Item, Result>[] {
    const batch: Entry<Item, Result>[] = [];
    let bytes = 0;
    while (batch.length < this.#options.itemsMax) {
      const entry = this.#queue[this.#head];
      if (entry === undefined) break;
      bytes += this.#bytesOf(entry);
      if (batch.length > 0 && bytes > this.#bytesMax()) break;
      batch.push(entry);
      this.#head++;
    }
    this.#forgetTaken();
    return batch;
  }

  /** As `#take`, but leaves entries whose key is in flight or already in the batch where they are. Null: all are such. */
  #takeDistinct(): Entry<Item, Result>[] | null {
    const batch: Entry<Item, Result>[] = [];
    const left: Entry<Item, Result>[] = [];
    const held = new Set<string>();
    let bytes = 0;
    let at = this.#head;
    for (; batch.length < this.#options.itemsMax; at++) {
      const entry = this.#queue[at];
      if (entry?.key === undefined) break;
      if (held.has(entry.key) || this.#keysInFlight.has(entry.key)) {
        left.push(entry);
        continue;
      }
      bytes += this.#bytesOf(entry);
      if (batch.length > 0 && bytes > this.#bytesMax()) break;
      held.add(entry.key);
      batch.push(entry);
    }
    if (batch.length === 0) return null;
    this.#head = at - left.length;
    for (const [i, entry] of left.entries()) this.#queue[this.#head + i] = entry;
    this.#forgetTaken();
    return batch;
  }

  #forgetTaken(): void {
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #bytesOf(entry: Entry<Item, Result>): number {
    return this.#options.bytesOf?.(entry.item) ?? 0;
  }

  #bytesMax(): number {
    return this.#options.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  /** Answers what is aborted or too late before it is sent; returns the rest. */
  #dropDead(batch: Entry<Item, Result>[] | null): Entry<Item, Result>[] | null {
    if (batch === null) return null;
    const nowMs = this.#options.clock.monotonicMs();
    if (batch.every((entry) => entry.expiresMs > nowMs && entry.signal?.aborted !== true)) return batch;
    return batch.filter((entry) => {
      if (entry.signal?.aborted === true) entry.reject(entry.signal.reason);
      else if (entry.expiresMs <= nowMs) entry.reject(this.#overloaded('the deadline passed before its turn came'));
      else return true;
      return false;
    });
  }

  /** Sends a batch until every item of it is answered. Never rejects. */
  async #run(batch: readonly Entry<Item, Result>[]): Promise<void> {
    this.#inFlight++;
    for (const entry of batch) if (entry.key !== undefined) this.#keysInFlight.add(entry.key);
    this.#options.observe?.(batch.length, this.#options.clock.monotonicMs() - (batch[0]?.addedMs ?? 0));
    await this.#send(batch, 1);
    for (const entry of batch) if (entry.key !== undefined) this.#keysInFlight.delete(entry.key);
    this.#inFlight--;
    this.#schedulePump();
  }

  async #send(batch: readonly Entry<Item, Result>[], firstTry: number): Promise<void> {
    let entries = batch;
    for (let tries = firstTry; ; tries++) {
      const error = await this.#try(entries);
      if (error === null) return;
      if (!(error instanceof StoreError)) return rejectAll(entries, error);
      if (error.failure === 'row') return this.#isolate(entries, error);
      entries = this.#dropExpired(entries, error);
      if (this.#stop.signal.aborted) return rejectAll(entries, error);
      if (tries >= this.#options.retry.attemptsMax) {
        return error.failure === 'busy' && entries.length > 1 ? this.#halve(entries, tries) : rejectAll(entries, error);
      }
      if (entries.length === 0) return;
      await this.#pause(entries, tries);
    }
  }

  /** One try: null when all items are answered, else what went wrong. */
  async #try(entries: readonly Entry<Item, Result>[]): Promise<unknown> {
    try {
      const results = await this.#options.flush(entries.map((entry) => entry.item));
      if (results.length !== entries.length) return this.#miscounted(entries.length, results.length);
      results.forEach((result, i) => {
        entries[i]?.resolve(result);
      });
      return null;
    } catch (error) {
      return error ?? this.#miscounted(entries.length, 0);
    } finally {
      this.#answers++;
    }
  }

  #isolate(entries: readonly Entry<Item, Result>[], error: StoreError): Promise<void> | void {
    const [guilty] = entries;
    if (guilty === undefined || entries.length > 1) return this.#halve(entries, 0);
    try {
      const result = this.#options.onRowError(guilty.item, error);
      if (result === undefined) guilty.reject(error);
      else guilty.resolve(result);
    } catch (refusal) {
      guilty.reject(refusal);
    }
  }

  /** The first half to its end, then the second: order is kept. */
  async #halve(entries: readonly Entry<Item, Result>[], tries: number): Promise<void> {
    const middle = Math.ceil(entries.length / 2);
    const firstTry = Math.max(1, tries);
    await this.#send(entries.slice(0, middle), firstTry);
    await this.#send(entries.slice(middle), firstTry);
  }

  #dropExpired(entries: readonly Entry<Item, Result>[], error: StoreError): readonly Entry<Item, Result>[] {
    const nowMs = this.#options.clock.monotonicMs();
    if (entries.every((entry) => entry.expiresMs > nowMs)) return entries;
    rejectAll(
      entries.filter((entry) => entry.expiresMs <= nowMs),
      error,
    );
    return entries.filter((entry) => entry.expiresMs > nowMs);
  }

  /** Never past the nearest deadline, so that the last try of an item is made at its deadline. */
  async #pause(entries: readonly Entry<Item, Result>[], tries: number): Promise<void> {
    const { clock, ids, retry } = this.#options;
    const fullMs = Math.min(retry.capMs, retry.baseMs * 2 ** (tries - 1));
    const nextExpiryMs = entries.reduce((least, entry) => Math.min(least, entry.expiresMs), Number.POSITIVE_INFINITY);
    const pauseMs = Math.min(fullMs * (0.5 + 0.5 * ids.random()), nextExpiryMs - clock.monotonicMs());
    await clock.sleep(Math.max(0, pauseMs), this.#stop.signal);
  }

  #overloaded(why: string): AppError {
    return new AppError({
      code: 'overloaded',
      retryable: true,
      retryAfterMs: 1000,
      message: `${this.#options.name}: ${why}; nothing was written, try again later`,
    });
  }

  #draining(): AppError {
    return new AppError({
      code: 'draining',
      retryable: true,
      message: `${this.#options.name}: this process is shutting down; nothing was written, try another`,
    });
  }

  #miscounted(items: number, results: number): AppError {
    return new AppError({ code: 'internal', message: `${this.#options.name}: ${results} results for ${items} items` });
  }
}

function rejectAll(entries: readonly { reject(error: unknown): void }[], error: unknown): void {
  for (const entry of entries) entry.reject(error);
}

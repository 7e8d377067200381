import type { Clock } from '../clock.ts';

export interface FreshCacheOptions<Key, Value> {
  readonly clock: Clock;
  /** Nothing older than this is ever answered, milliseconds. */
  readonly staleMs: number;
  /** The least recently used go above this many. */
  readonly entriesMax: number;
  /** Reads one value; null is answered but not kept, so that a new thing is found at once. */
  readonly load: (key: Key) => Promise<Value | null>;
}

interface Entry<Value> {
  readonly value: Value;
  readonly loadedAtMs: number;
}

/**
 * Values that may be a little old. Age counts from before the read that brought them. From half the limit on a value
 * is answered and read again behind the answer, so that a busy key never waits; of one key one read is under way at a time.
 * A read that fails reaches only those who had nothing fresh to take.
 */
export class FreshCache<Key extends string, Value> {
  readonly #options: FreshCacheOptions<Key, Value>;
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #loading = new Map<Key, Promise<Value | null>>();

  constructor(options: FreshCacheOptions<Key, Value>) {
    this.#options = options;
  }

  async get(key: Key): Promise<Value | null> {
    const entry = this.#entries.get(key);
    const ageMs = entry ? this.#options.clock.monotonicMs() - entry.loadedAtMs : Number.POSITIVE_INFINITY;
    if (!entry || ageMs >= this.#options.staleMs) return this.#load(key);
    if (this.#entries.size * 2 > this.#options.entriesMax) this.#moveToEnd(key, entry);
    if (ageMs >= this.#options.staleMs / 2) this.#refresh(key);
    return entry.value;
  }

  /** Keeps the order of use. It costs more than the lookup, and says nothing while there is room for as many again. */
  #moveToEnd(key: Key, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  /** The old value serves until it is too old; then the next caller reads again and sees the failure. */
  #refresh(key: Key): void {
    if (!this.#loading.has(key)) this.#load(key).catch(() => undefined);
  }

  #load(key: Key): Promise<Value | null> {
    const underway = this.#loading.get(key);
    if (underway !== undefined) return underway;
    const loading = this.#read(key).finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }

  async #read(key: Key): Promise<Value | null> {
    const loadedAtMs = this.#options.clock.monotonicMs();
    const value = await this.#options.load(key);
    this.#keep(key, value, loadedAtMs);
    return value;
  }

  #keep(key: Key, value: Value | null, loadedAtMs: number): void {
    this.#entries.delete(key);
    if (value === null) return;
    this.#entries.set(key, { value, loadedAtMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.entriesMax) return;
      this.#entries.delete(oldest);
    }
  }
}

import type { Clock } from '../clock.ts';
import type { MissGate } from './miss-gate.ts';

export interface FreshCacheOptions<Key, Value> {
  readonly clock: Clock;
  /** Nothing older than this is ever answered, milliseconds. */
  readonly staleMs: number;
  /** The least recently used go above this many; as many missing ones are remembered besides. */
  readonly entriesMax: number;
  /** What was missing is answered as missing for this long, milliseconds: a new thing is found after it at the latest. */
  readonly missingMs: number;
  /** Bounds the reads of keys that this cache does not know. Caches over one pool share it. */
  readonly missGate: MissGate;
  /** Reads one value; null when there is none. */
  readonly load: (key: Key) => Promise<Value | null>;
}

interface Entry<Value> {
  readonly value: Value;
  readonly loadedAtMs: number;
}

/**
 * Values that may be a little old. Age counts from before the read that brought them. From half the limit on a value
 * is answered and read again behind the answer, so that a busy key never waits; of one key one read is under way at a time.
 * A read that fails reaches only those who had nothing fresh to take. Anybody can ask for keys that do not exist, so reads of
 * unknown keys go through a gate: however many come, a known key is read again without waiting behind them.
 */
export class FreshCache<Key extends string, Value> {
  readonly #options: FreshCacheOptions<Key, Value>;
  readonly #entries = new Map<Key, Entry<Value>>();
  /** When the read that found nothing began, the longest ago first. */
  readonly #missing = new Map<Key, number>();
  readonly #loading = new Map<Key, Promise<Value | null>>();

  constructor(options: FreshCacheOptions<Key, Value>) {
    this.#options = options;
  }

  /** @throws StoreError `busy` when too many unknown keys are read; what `load` throws */
  async get(key: Key): Promise<Value | null> {
    const entry = this.#entries.get(key);
    if (!entry) return this.#isMissing(key) ? null : this.#load(key);
    const ageMs = this.#options.clock.monotonicMs() - entry.loadedAtMs;
    if (ageMs >= this.#options.staleMs) return this.#load(key);
    if (this.#entries.size * 2 > this.#options.entriesMax) this.#moveToEnd(key, entry);
    if (ageMs >= this.#options.staleMs / 2) this.#refresh(key);
    return entry.value;
  }

  #isMissing(key: Key): boolean {
    const missedAtMs = this.#missing.get(key);
    return missedAtMs !== undefined && this.#options.clock.monotonicMs() - missedAtMs < this.#options.missingMs;
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
    const isKnown = this.#entries.has(key);
    const reading = isKnown ? this.#read(key) : this.#options.missGate.pass(() => this.#read(key));
    const loading = reading.finally(() => this.#loading.delete(key));
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
    this.#missing.delete(key);
    if (value === null) this.#missing.set(key, loadedAtMs);
    else this.#entries.set(key, { value, loadedAtMs });
    dropOldest(this.#missing, this.#options.entriesMax);
    dropOldest(this.#entries, this.#options.entriesMax);
  }
}

function dropOldest<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(oldest);
  }
}

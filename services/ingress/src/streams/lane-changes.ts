import type { Clock, LaneId, LanePage, LaneRef, Logger, StreamReads } from '@turnkeeper/core';

export interface LaneChangesOptions {
  readonly reads: Pick<StreamReads, 'heads' | 'changes'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Asked {
  readonly lane: LaneRef;
  readonly after: number;
  readonly answer: PromiseWithResolvers<LanePage | null>;
}

const POLL_MS = 1_000;
/** Readers that are told of the same thing ask at the same moment: their reads become one. */
const GATHER_MS = 2;
const LANES_PER_READ = 500;

/**
 * The rows behind all streams of this node: reads of many lanes in one go, equal ones once, and a poll of where the
 * followed lanes stand, so that a reader whose live signal was lost is at most a second late.
 */
export class LaneChanges {
  readonly #options: LaneChangesOptions;
  readonly #followed = new Map<LaneId, { readonly lane: LaneRef; readonly handlers: Set<(seq: number) => void> }>();
  #asked = new Map<string, Asked>();
  #isReading = false;

  constructor(options: LaneChangesOptions) {
    this.#options = options;
  }

  /** Calls back once a second with the lane's seq, until the returned function is called. */
  follow(lane: LaneRef, onSeq: (seq: number) => void): () => void {
    const entry = this.#followed.get(lane.laneId) ?? { lane, handlers: new Set() };
    this.#followed.set(lane.laneId, entry);
    entry.handlers.add(onSeq);
    return () => {
      entry.handlers.delete(onSeq);
      if (entry.handlers.size === 0 && this.#followed.get(lane.laneId) === entry) this.#followed.delete(lane.laneId);
    };
  }

  /** What changed after a seq; null = no such lane. @throws StoreError */
  read(lane: LaneRef, after: number): Promise<LanePage | null> {
    const key = `${lane.laneId}/${after}`;
    const known = this.#asked.get(key);
    if (known !== undefined) return known.answer.promise;
    const asked = { lane, after, answer: Promise.withResolvers<LanePage | null>() };
    this.#asked.set(key, asked);
    if (!this.#isReading) void this.#readAll();
    return asked.answer.promise;
  }

  /** Polls until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(POLL_MS, signal);
      try {
        await this.#poll();
      } catch (error) {
        logger.failed(error, {}, 'followed lanes could not be polled');
      }
    }
  }

  async #poll(): Promise<void> {
    const lanes = [...this.#followed.values()].map(({ lane }) => lane);
    for (let at = 0; at < lanes.length; at += LANES_PER_READ) {
      for (const head of await this.#options.reads.heads(lanes.slice(at, at + LANES_PER_READ))) {
        if (head === null) continue;
        for (const handler of this.#followed.get(head.lane.laneId)?.handlers ?? []) handler(head.seq);
      }
    }
  }

  /** Behind what was asked since: each read has room for its first lane, so that every one comes to its turn. */
  #askAgain({ lane, after, answer }: Asked): void {
    const key = `${lane.laneId}/${after}`;
    const since = this.#asked.get(key);
    if (since === undefined) this.#asked.set(key, { lane, after, answer });
    else since.answer.promise.then(answer.resolve, answer.reject);
  }

  /**
   * One function to the end: between its last look and its end no other code may run, or a reader that asks then, as the
   * one just answered does, would wait for a reading that nobody starts.
   */
  async #readAll(): Promise<void> {
    this.#isReading = true;
    await this.#options.clock.sleep(GATHER_MS);
    while (this.#asked.size > 0) {
      const batch = [...this.#asked.entries()].slice(0, LANES_PER_READ);
      for (const [key] of batch) this.#asked.delete(key);
      const items = batch.map(([, asked]) => asked);
      try {
        const pages = await this.#options.reads.changes(items);
        for (const [i, asked] of items.entries()) {
          const page = pages[i] ?? null;
          if (page === 'later') this.#askAgain(asked);
          else asked.answer.resolve(page);
        }
      } catch (error) {
        for (const { answer } of items) answer.reject(error);
      }
    }
    this.#isReading = false;
  }
}

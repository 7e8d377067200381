import {
  Batcher,
  type ClaimedTurn,
  type Clock,
  type CommitRequest,
  evictAboveCap,
  evictUnderPressure,
  type Ids,
  type LaneId,
  type SessionId,
  type TranscriptEntry,
  type TranscriptRequest,
  type TranscriptStore,
} from '@turnkeeper/core';
import { LRUCache } from 'lru-cache';

export interface TranscriptCacheOptions {
  readonly store: TranscriptStore;
  /** Entries of a session that a turn is given at most. */
  readonly messagesMax: number;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A turn of this lane runs here: what is kept of it will be asked for again at once. */
  readonly isRunning: (laneId: LaneId) => boolean;
  readonly lanesMax?: number;
}

interface WarmLane {
  readonly sessionId: SessionId;
  /** The lane's seq up to which nothing is missing. */
  readonly throughSeq: bigint;
  readonly entries: readonly TranscriptEntry[];
}

/** Lanes that are kept; of those that speak right now, more. */
const LANES_MAX = 128;
/** Of what memory is short of at once, and the newest that stay. */
const EVICTIONS_PER_PASS = 16;
const PROTECTED_RECENT = 8;
const IDLE_MS = 60 * 60 * 1000;
/** Characters of text in all, whoever uses it; a session with more than a tenth of them is not kept. */
const TEXT_MAX = 64 * 1024 * 1024;
/** Few, because each may bring hundreds of long rows. */
const READS_PER_BATCH = 16;
/** A worker's turns bound what waits. */
const QUEUE_MAX = Number.POSITIVE_INFINITY;
const RETRY = { attemptsMax: 3, baseMs: 50, capMs: 500 };

/**
 * Transcripts of the lanes that ran last, to save reads. Every transaction that changes a lane raises its seq, so what is
 * kept is whole exactly when the claim's seq follows the one up to which it is known, in the same session; everything
 * else is read anew.
 */
export class TranscriptCache {
  readonly #reads: Batcher<TranscriptRequest, readonly TranscriptEntry[]>;
  readonly #messagesMax: number;
  readonly #lanes: LRUCache<LaneId, WarmLane>;
  readonly #lanesMax: number;
  /** Their entries stay: the turn's commit makes them longer, and the next turn is given them. */
  readonly #midTurn: { has(laneId: string): boolean };

  constructor(options: TranscriptCacheOptions) {
    const { store, messagesMax, clock, ids } = options;
    this.#messagesMax = messagesMax;
    this.#lanesMax = options.lanesMax ?? LANES_MAX;
    this.#midTurn = { has: (laneId) => options.isRunning(laneId as LaneId) };
    this.#reads = new Batcher({
      ...{
        name: 'transcripts',
        itemsMax: READS_PER_BATCH,
        queueMax: QUEUE_MAX,
        flushesMax: 2,
        clock,
        ids,
        retry: RETRY,
      },
      flush: (items) => store.recent(items, messagesMax),
      onRowError: () => undefined,
    });
    this.#lanes = new LRUCache({
      ttl: IDLE_MS,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
      updateAgeOnGet: true,
      // those whose time is over count, and are the first to go
      allowStale: true,
      maxSize: TEXT_MAX,
      maxEntrySize: Math.floor(TEXT_MAX / 10),
      sizeCalculation: ({ entries }) => entries.reduce((sum, { body }) => sum + textLengthOf(body), 1),
    });
  }

  /** What the turn's session holds before it. @throws StoreError */
  async before(turn: ClaimedTurn): Promise<readonly TranscriptEntry[]> {
    const { lane, sessionId, seq } = turn;
    const throughSeq = BigInt(seq) - 1n;
    const warm = this.#lanes.get(lane.laneId, { allowStale: false });
    if (warm?.sessionId === sessionId && warm.throughSeq === throughSeq) return warm.entries;
    const entries = await this.#reads.add({ lane, sessionId, beforeSeq: seq });
    this.#keep(lane.laneId, { sessionId, throughSeq, entries });
    return entries;
  }

  /** Memory is short: gives up the lanes that were not spoken in for longest, some at a time. How many. */
  relieve(): number {
    const lruToMru = [...this.#lanes.rkeys()];
    // nothing here is only here
    const given = { lruToMru, midTurn: this.#midTurn, unflushed: new Set<string>() };
    const evicted = evictUnderPressure({ ...given, protectRecent: PROTECTED_RECENT, maxPerPass: EVICTIONS_PER_PASS });
    for (const laneId of evicted) this.#lanes.delete(laneId as LaneId);
    return evicted.length;
  }

  /** The turn was stored: what it added is known without reading, if nothing else came between. */
  committed(turn: ClaimedTurn, request: CommitRequest, { seq }: { readonly seq: string }): void {
    const { laneId } = turn.lane;
    const warm = this.#lanes.peek(laneId);
    if (warm === undefined) return;
    // what goes on stands where its first turn began, and the steps of that turn behind it
    const isWhole =
      turn.resumeOf === null &&
      warm.sessionId === turn.sessionId &&
      warm.throughSeq === BigInt(turn.seq) - 1n &&
      BigInt(seq) === BigInt(turn.seq) + 1n;
    if (!isWhole) {
      this.#lanes.delete(laneId);
      return;
    }
    const added: TranscriptEntry[] = turn.events.map(({ body }) => ({ seq: turn.seq, role: 'user', body }));
    const { reply } = request;
    if (reply !== null) added.push({ seq, role: reply.code === undefined ? 'assistant' : 'notice', body: reply });
    const entries = [...warm.entries, ...added].slice(-this.#messagesMax);
    this.#keep(laneId, { sessionId: turn.sessionId, throughSeq: BigInt(seq), entries });
  }

  #keep(laneId: LaneId, warm: WarmLane): void {
    this.#lanes.set(laneId, warm);
    const all = { lruToMru: this.#lanes.rkeys(), size: this.#lanes.size, midTurn: this.#midTurn };
    for (const old of evictAboveCap(all, this.#lanesMax)) this.#lanes.delete(old as LaneId);
  }
}

function textLengthOf(body: unknown): number {
  const text = typeof body === 'object' && body !== null && 'text' in body ? body.text : null;
  return typeof text === 'string' ? text.length : 1024;
}

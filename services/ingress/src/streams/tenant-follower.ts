import {
  type Clock,
  type DurableEvent,
  type LaneId,
  type LanePage,
  type LaneRef,
  type LiveEvent,
  type LiveStream,
  type Logger,
  type Micros,
  STREAM_EVENTS,
  type StreamReads,
  type TenantId,
} from '@turnkeeper/core';
import type { LaneChanges } from './lane-changes.ts';
import { LaneHints } from './lane-hints.ts';

/** Where the events of a tenant go. */
export interface TenantSink {
  /** `toldTo`: all that changed up to this moment has been told; behind it a reader goes on. */
  durable(event: DurableEvent, toldTo: Micros): void;
  ephemeral(event: LiveEvent): void;
  /** As of a `StreamSink`. */
  drained(): Promise<void>;
}

export interface TenantFollowerOptions {
  readonly tenantId: TenantId;
  readonly reads: Pick<StreamReads, 'tenantChanges' | 'seqsAt'>;
  readonly changes: Pick<LaneChanges, 'read'>;
  readonly live: Pick<LiveStream, 'subscribeTenant'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sink: TenantSink;
}

const DURABLE: ReadonlySet<string> = new Set(
  Object.entries(STREAM_EVENTS).flatMap(([type, { durable }]) => (durable ? [type] : [])),
);

const LANES_PER_READ = 50;
/** Lanes of which it is remembered what was told; those told of longest ago are forgotten first. */
const LANES_KNOWN_MAX = 100_000;
/** The rows are asked what changed so often, besides what live events tell. */
const POLL_MS = 2_000;
/** A transaction may commit so much later than the moment that its rows have. */
const OVERLAP_MICROS = 8_000_000;

/**
 * One reader of all lanes of a tenant (decision 0009). As in a `LaneFollower`, durable events come from rows alone, each
 * lane's in order and once; live events only name lanes to be read.
 *
 * ```
 *  live event with a seq ───────┐
 *                               ├─► lanes to be read ─► the rows behind what was told of each ─► durable events
 *  what changed since `toldTo` ─┘        (all read: `toldTo` moves to the last look, less the overlap)
 *  live event without one ─► held while its lane is to be read, else passed on at once
 * ```
 * What was told of a lane is known for this connection; of a lane that is not known, everything that changed behind
 * `toldTo` is told. So a reader that comes back with `toldTo` misses nothing, and may be told again of what changed shortly
 * before it went: it tells by the seq of the lane.
 */
export class TenantFollower {
  readonly #options: TenantFollowerOptions;
  readonly #unsubscribe: () => void;
  readonly #stop = new AbortController();
  readonly #hints: LaneHints;
  readonly #told = new Map<LaneId, number>();
  #toldTo: Micros = 0;
  #wake = new AbortController();

  constructor(options: TenantFollowerOptions) {
    this.#options = options;
    const { live, tenantId, sink } = options;
    this.#hints = new LaneHints((event) => sink.ephemeral(event));
    this.#unsubscribe = live.subscribeTenant(tenantId, (lane, event) => this.#onLive(lane, event));
  }

  /** Tells what changed after the moment. @throws StoreError */
  async replay(after: Micros): Promise<void> {
    this.#toldTo = after;
    await this.#look();
  }

  /** Tells what changes, until it is closed. Resolves then. */
  async goOn(): Promise<void> {
    const { clock, logger, tenantId } = this.#options;
    let nextLookMs = clock.monotonicMs() + POLL_MS;
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      const restMs = nextLookMs - clock.monotonicMs();
      const isWanted = this.#hints.size > 0;
      if (!isWanted && restMs > 0) await clock.sleep(restMs, AbortSignal.any([this.#wake.signal, this.#stop.signal]));
      try {
        if (clock.monotonicMs() < nextLookMs) await this.#readWanted();
        else await this.#look();
      } catch (error) {
        logger.failed(error, { tenantId }, 'the stream of a tenant could not read what changed');
        await clock.sleep(POLL_MS, this.#stop.signal);
      }
      if (clock.monotonicMs() >= nextLookMs) nextLookMs = clock.monotonicMs() + POLL_MS;
    }
  }

  close(): void {
    this.#stop.abort();
    this.#unsubscribe();
    this.#hints.close();
  }

  #onLive(lane: LaneRef, event: LiveEvent): void {
    if (DURABLE.has(event.type)) {
      this.#hints.want(lane);
      this.#wake.abort();
    } else if (event.type !== 'turn.snapshot') this.#hints.pass(lane, event);
  }

  /** Page by page, the reader's pace setting ours. */
  async #look(): Promise<void> {
    const { reads, tenantId } = this.#options;
    for (let since = this.#toldTo; !this.#stop.signal.aborted; ) {
      const page = await reads.tenantChanges(tenantId, since);
      for (const { lane, seq } of page.lanes) {
        const told = this.#told.get(lane.laneId);
        if (told === undefined || told < seq) this.#hints.want(lane);
      }
      await this.#readWanted();
      if (this.#stop.signal.aborted) return;
      if (page.upTo === null) {
        this.#toldTo = Math.max(this.#toldTo, page.now - OVERLAP_MICROS);
        return;
      }
      // more than a page within one millisecond is found by what its turns end with
      since = Math.max(page.upTo, since + 1_000);
      this.#toldTo = Math.max(this.#toldTo, Math.min(since, page.now - OVERLAP_MICROS));
    }
  }

  async #readWanted(): Promise<void> {
    for (let lanes = this.#hints.take(LANES_PER_READ); lanes.length > 0; lanes = this.#hints.take(LANES_PER_READ)) {
      try {
        await this.#read(lanes);
      } catch (error) {
        for (const lane of lanes) this.#hints.want(lane);
        throw error;
      }
      if (this.#stop.signal.aborted) return;
    }
  }

  async #read(lanes: readonly LaneRef[]): Promise<void> {
    const { reads, changes } = this.#options;
    const unknown = lanes.filter(({ laneId }) => !this.#told.has(laneId));
    const seqs = unknown.length === 0 ? [] : await reads.seqsAt(unknown, this.#toldTo);
    for (const [i, { laneId }] of unknown.entries()) this.#remember(laneId, seqs[i] ?? 0);
    const pages = await Promise.all(lanes.map((lane) => changes.read(lane, this.#told.get(lane.laneId) ?? 0)));
    for (const [i, lane] of lanes.entries()) await this.#tell(lane, pages[i] ?? null);
  }

  async #tell(lane: LaneRef, page: LanePage | null): Promise<void> {
    const { sink } = this.#options;
    for (const event of page?.events ?? []) {
      if (this.#stop.signal.aborted) return;
      sink.durable(event, this.#toldTo);
      await sink.drained();
    }
    if (page !== null) this.#remember(lane.laneId, page.upTo);
    if (page !== null && page.upTo < page.head) this.#hints.want(lane);
    else this.#hints.told(lane, page?.events ?? []);
  }

  #remember(laneId: LaneId, seq: number): void {
    const told = Math.max(seq, this.#told.get(laneId) ?? 0);
    this.#told.delete(laneId);
    this.#told.set(laneId, told);
    if (this.#told.size <= LANES_KNOWN_MAX) return;
    const [oldest] = this.#told.keys();
    if (oldest !== undefined) this.#told.delete(oldest);
  }
}

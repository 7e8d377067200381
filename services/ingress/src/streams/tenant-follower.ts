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
  type TenantPage,
} from '@turnkeeper/core';
import type { LaneChanges } from './lane-changes.ts';
import { LaneHints } from './lane-hints.ts';
import type { TenantChanges } from './tenant-changes.ts';

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
  readonly reads: Pick<StreamReads, 'seqsAt'>;
  readonly changes: Pick<LaneChanges, 'read'>;
  readonly tenantChanges: Pick<TenantChanges, 'follow' | 'look'>;
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
/** After rows could not be read. */
const RETRY_MS = 2_000;

/**
 * One reader of all lanes of a tenant (decision 0009). As in a `LaneFollower`, durable events come from rows alone, each
 * lane's in order and once; live events only name lanes to be read.
 *
 * ```
 *  live event with a seq ───────┐
 *                               ├─► lanes to be read ─► the rows behind what was told of each ─► durable events
 *  what changed, by the poll ───┘        (all read: `toldTo` moves to where the last look told it to)
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
  /** Once all lanes that are to be read have been, `toldTo` moves here. */
  #toldNext: Micros = 0;
  /** More changed than can be kept in mind: the rows have to be looked at again from `toldTo` on. */
  #isBehind = false;
  /** Nothing is to be read, and nothing is being read. */
  #isIdle = false;
  #unfollow: () => void = () => undefined;
  #wake = new AbortController();

  constructor(options: TenantFollowerOptions) {
    this.#options = options;
    const { live, tenantId, sink } = options;
    this.#hints = new LaneHints((event) => sink.ephemeral(event));
    this.#unsubscribe = live.subscribeTenant(tenantId, (lane, event) => this.#onLive(lane, event));
  }

  /** All that changed up to this moment has been told; 0 before anything is to be. */
  get toldTo(): Micros {
    return this.#toldTo;
  }

  /** Tells what changed after the moment. @throws StoreError */
  async replay(after: Micros): Promise<void> {
    this.#toldTo = after;
    await this.#look();
  }

  /** Tells what changes, until it is closed. Resolves then. */
  async goOn(): Promise<void> {
    const { clock, logger, tenantId, tenantChanges } = this.#options;
    if (this.#stop.signal.aborted) return;
    this.#unfollow = tenantChanges.follow(tenantId, this.#toldTo, (lanes, toldTo) => this.#onChanged(lanes, toldTo));
    while (!this.#stop.signal.aborted) {
      if (this.#hints.size === 0 && !this.#isBehind) await this.#nextHint();
      try {
        if (this.#isBehind) await this.#look();
        else await this.#readOn();
      } catch (error) {
        logger.failed(error, { tenantId }, 'the stream of a tenant could not read what changed');
        await clock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  close(): void {
    this.#stop.abort();
    this.#unfollow();
    this.#unsubscribe();
    this.#hints.close();
  }

  #onLive(lane: LaneRef, event: LiveEvent): void {
    if (DURABLE.has(event.type)) {
      this.#hints.want(lane);
      this.#wake.abort();
    } else if (event.type !== 'turn.snapshot') this.#hints.pass(lane, event);
  }

  #onChanged(lanes: TenantPage['lanes'], toldTo: Micros): void {
    this.#wantAll(lanes);
    this.#toldNext = Math.max(this.#toldNext, toldTo);
    if (this.#hints.size > 0 || this.#isBehind) this.#wake.abort();
    else if (this.#isIdle) this.#moveOn(this.#toldNext);
  }

  #wantAll(lanes: TenantPage['lanes']): void {
    for (const { lane, seq } of lanes) {
      const told = this.#told.get(lane.laneId);
      if (told === undefined || told < seq) this.#want(lane);
    }
  }

  /** A lane that must not be forgotten. */
  #want(lane: LaneRef): void {
    if (!this.#hints.want(lane)) this.#isBehind = true;
  }

  async #nextHint(): Promise<void> {
    this.#wake = new AbortController();
    this.#moveOn(this.#toldNext);
    this.#isIdle = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const signal = AbortSignal.any([this.#wake.signal, this.#stop.signal]);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (!signal.aborted) await promise;
    this.#isIdle = false;
  }

  /** Page by page, the reader's pace setting ours. */
  async #look(): Promise<void> {
    const { tenantChanges, tenantId } = this.#options;
    this.#isBehind = false;
    try {
      for await (const { lanes, toldTo } of tenantChanges.look(tenantId, this.#toldTo)) {
        this.#wantAll(lanes);
        await this.#readWanted();
        if (this.#stop.signal.aborted) return;
        this.#moveOn(toldTo);
      }
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }

  async #readOn(): Promise<void> {
    const toldNext = this.#toldNext;
    await this.#readWanted();
    if (!this.#stop.signal.aborted) this.#moveOn(toldNext);
  }

  /** Not while anything may have been forgotten. */
  #moveOn(toldTo: Micros): void {
    if (!this.#isBehind) this.#toldTo = Math.max(this.#toldTo, toldTo);
  }

  async #readWanted(): Promise<void> {
    for (let lanes = this.#hints.take(LANES_PER_READ); lanes.length > 0; lanes = this.#hints.take(LANES_PER_READ)) {
      try {
        await this.#read(lanes);
      } catch (error) {
        for (const lane of lanes) this.#want(lane);
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
    if (page !== null && page.upTo < page.head) this.#want(lane);
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

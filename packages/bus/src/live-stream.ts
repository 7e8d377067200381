import type { Clock, Counter, LaneId, LaneRef, LiveEvent, LiveStream } from '@turnkeeper/core';
import { readLiveEvent, WATCH_LANES_MAX, writeLiveEvent, writeWatch } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { type LaneWatchers, WATCH_EVERY_MS } from './lane-watchers.ts';
import { laneSubject, watchSubject } from './subjects.ts';

export interface NatsLiveStreamOptions {
  readonly link: BusLink;
  readonly clock: Clock;
  /** `stream_deltas_dropped_total`: events that could not be sent, or read. */
  readonly dropped: Counter;
  /** Without them every lane counts as watched. */
  readonly watchers?: LaneWatchers;
}

/** Live events of lanes, worker to sockets. Readers in one process share a subscription, and tell that they listen. */
export class NatsLiveStream implements LiveStream {
  readonly #link: BusLink;
  readonly #clock: Clock;
  readonly #dropped: Counter;
  readonly #watchers: LaneWatchers | undefined;
  /** Lanes with readers here, and how many. */
  readonly #read = new Map<LaneId, number>();
  #telling = false;

  constructor(options: NatsLiveStreamOptions) {
    this.#link = options.link;
    this.#clock = options.clock;
    this.#dropped = options.dropped;
    this.#watchers = options.watchers;
    options.link.onChange((connected) => {
      if (connected) this.#tell([...this.#read.keys()]);
    });
  }

  get connected(): boolean {
    return this.#link.connected;
  }

  isWatched({ laneId }: LaneRef): boolean {
    return this.#link.connected && (this.#watchers?.isWatched(laneId) ?? true);
  }

  publish(lane: LaneRef, event: LiveEvent): void {
    if (!this.#link.publish(laneSubject(this.#link.prefix, lane), writeLiveEvent(event))) this.#dropped.inc();
  }

  subscribe(lane: LaneRef, onEvent: (event: LiveEvent) => void): () => void {
    const { laneId } = lane;
    const leave = this.#link.subscribe(laneSubject(this.#link.prefix, lane), (text) => {
      const event = readLiveEvent(text);
      if (event === null) this.#dropped.inc();
      else onEvent(event);
    });
    this.#read.set(laneId, (this.#read.get(laneId) ?? 0) + 1);
    this.#tell([laneId]);
    if (!this.#telling) void this.#tellAgain();
    let isOpen = true;
    return () => {
      if (isOpen) this.#forget(laneId);
      isOpen = false;
      leave();
    };
  }

  #forget(laneId: LaneId): void {
    const left = (this.#read.get(laneId) ?? 1) - 1;
    if (left === 0) this.#read.delete(laneId);
    else this.#read.set(laneId, left);
  }

  #tell(lanes: readonly LaneId[]): void {
    for (let from = 0; from < lanes.length; from += WATCH_LANES_MAX) {
      this.#link.publish(watchSubject(this.#link.prefix), writeWatch(lanes.slice(from, from + WATCH_LANES_MAX)));
    }
  }

  /** For as long as anybody reads: a worker may have missed it, or be new. */
  async #tellAgain(): Promise<void> {
    this.#telling = true;
    while (this.#read.size > 0) {
      await this.#clock.sleep(WATCH_EVERY_MS, this.#link.closing);
      if (this.#link.closing.aborted) return;
      this.#tell([...this.#read.keys()]);
    }
    this.#telling = false;
  }
}

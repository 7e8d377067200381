import type { Counter, LaneRef, LiveEvent, LiveStream } from '@turnkeeper/core';
import { readLiveEvent, writeLiveEvent } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { laneSubject } from './subjects.ts';

export interface NatsLiveStreamOptions {
  readonly link: BusLink;
  /** `stream_deltas_dropped_total`: events that could not be sent, or read. */
  readonly dropped: Counter;
}

/** Live events of lanes, worker to sockets. Readers in one process share a subscription. */
export class NatsLiveStream implements LiveStream {
  readonly #link: BusLink;
  readonly #dropped: Counter;

  constructor(options: NatsLiveStreamOptions) {
    this.#link = options.link;
    this.#dropped = options.dropped;
  }

  get connected(): boolean {
    return this.#link.connected;
  }

  publish(lane: LaneRef, event: LiveEvent): void {
    if (!this.#link.publish(laneSubject(this.#link.prefix, lane), writeLiveEvent(event))) this.#dropped.inc();
  }

  subscribe(lane: LaneRef, onEvent: (event: LiveEvent) => void): () => void {
    return this.#link.subscribe(laneSubject(this.#link.prefix, lane), (text) => {
      const event = readLiveEvent(text);
      if (event === null) this.#dropped.inc();
      else onEvent(event);
    });
  }
}

import type { Clock, Counter, LaneId, LaneRef, LiveEvent, LiveStream, TenantId } from '@turnkeeper/core';
import { readLiveEvent, WATCH_LANES_MAX, writeLiveEvent, writeWatch } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { type LaneWatchers, WATCH_EVERY_MS } from './lane-watchers.ts';
import { laneOfSubject, laneSubject, tenantLanesSubject, watchSubject } from './subjects.ts';

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
  /** Tenants of which somebody here reads all lanes, and how many do. */
  readonly #readWhole = new Map<TenantId, number>();
  #telling = false;

  constructor(options: NatsLiveStreamOptions) {
    this.#link = options.link;
    this.#clock = options.clock;
    this.#dropped = options.dropped;
    this.#watchers = options.watchers;
    options.link.onChange((connected) => {
      if (connected) this.#tellAll();
    });
  }

  get connected(): boolean {
    return this.#link.connected;
  }

  isWatched(lane: LaneRef): boolean {
    return this.#link.connected && (this.#watchers?.isWatched(lane) ?? true);
  }

  publish(lane: LaneRef, event: LiveEvent): void {
    if (!this.#link.publish(laneSubject(this.#link.prefix, lane), writeLiveEvent(event))) this.#dropped.inc();
  }

  subscribe(lane: LaneRef, onEvent: (event: LiveEvent) => void): () => void {
    const { laneId } = lane;
    const leave = this.#link.subscribe(laneSubject(this.#link.prefix, lane), (text) => this.#hand(text, onEvent));
    const forget = count(this.#read, laneId);
    this.#tell([laneId], []);
    if (!this.#telling) void this.#tellAgain();
    return once(leave, forget);
  }

  subscribeTenant(tenantId: TenantId, onEvent: (lane: LaneRef, event: LiveEvent) => void): () => void {
    const leave = this.#link.subscribe(tenantLanesSubject(this.#link.prefix, tenantId), (text, subject) =>
      this.#hand(text, (event) => onEvent(laneOfSubject(tenantId, subject), event)),
    );
    const forget = count(this.#readWhole, tenantId);
    this.#tell([], [tenantId]);
    if (!this.#telling) void this.#tellAgain();
    return once(leave, forget);
  }

  #hand(text: string, onEvent: (event: LiveEvent) => void): void {
    const event = readLiveEvent(text);
    if (event === null) this.#dropped.inc();
    else onEvent(event);
  }

  #tell(lanes: readonly LaneId[], tenants: readonly TenantId[]): void {
    for (let from = 0; from < Math.max(lanes.length, tenants.length); from += WATCH_LANES_MAX) {
      const part = <Id>(ids: readonly Id[]) => ids.slice(from, from + WATCH_LANES_MAX);
      const watch = writeWatch({ lanes: part(lanes), tenants: part(tenants) });
      this.#link.publish(watchSubject(this.#link.prefix), watch);
    }
  }

  #tellAll(): void {
    this.#tell([...this.#read.keys()], [...this.#readWhole.keys()]);
  }

  /** For as long as anybody reads: a worker may have missed it, or be new. */
  async #tellAgain(): Promise<void> {
    this.#telling = true;
    while (this.#read.size + this.#readWhole.size > 0) {
      await this.#clock.sleep(WATCH_EVERY_MS, this.#link.closing);
      if (this.#link.closing.aborted) return;
      this.#tellAll();
    }
    this.#telling = false;
  }
}

/** One reader more; call what it returns when it has gone. */
function count<Id>(readers: Map<Id, number>, id: Id): () => void {
  readers.set(id, (readers.get(id) ?? 0) + 1);
  return () => {
    const left = (readers.get(id) ?? 1) - 1;
    if (left === 0) readers.delete(id);
    else readers.set(id, left);
  };
}

function once(...ends: readonly (() => void)[]): () => void {
  let isOpen = true;
  return () => {
    if (isOpen) for (const end of ends) end();
    isOpen = false;
  };
}

import {
  type Clock,
  type DurableEvent,
  type LaneHead,
  type LaneRef,
  type LiveEvent,
  type LiveStream,
  type Logger,
  type Snapshots,
  STREAM_EVENTS,
} from '@turnkeeper/core';
import type { LaneChanges } from './lane-changes.ts';
import type { StreamCursor } from './stream-filter.ts';

export interface FollowerOptions {
  readonly lane: LaneRef;
  readonly changes: Pick<LaneChanges, 'follow' | 'read'>;
  readonly live: Pick<LiveStream, 'subscribe'>;
  readonly snapshots: Pick<Snapshots, 'ask'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `cursor`: where the reader stands with it. */
  readonly onDurable: (event: DurableEvent, cursor: StreamCursor) => void;
  readonly onEphemeral: (event: LiveEvent) => void;
  /** Awaited after each durable event: resolves when the reader may get the next. */
  readonly drained: () => Promise<void>;
}

/** Told from rows; what is announced of them live only hastens the reading. */
const DURABLE: ReadonlySet<string> = new Set(
  Object.entries(STREAM_EVENTS).flatMap(([type, { durable }]) => (durable ? [type] : [])),
);

/** Live events kept while rows are read; above it they are lost, as they may be. */
const HELD_MAX = 500;
const SNAPSHOT_MS = 200;
const ENDED_TURNS_MAX = 32;

/**
 * One reader of one lane (surface §4): subscribed first; then the rows after its cursor; then live.
 *
 * ```
 *  live event with a seq, or a poll ─► wanted seq ─► read the rows after the cursor ─► durable events, cursor = page's end
 *  live event without one ───────────► held while rows are read or a snapshot is awaited, else passed on at once
 * ```
 * Durable events come from the rows alone: a live one only says that there is something to read. So each comes once and
 * in order, whatever is lost, doubled or late on the way. They are written as the reader takes them; meanwhile the rows
 * wait, and live events are lost above a bound. Deltas of a turn that has ended are dropped.
 */
export class LaneFollower {
  readonly #options: FollowerOptions;
  readonly #endings: (() => void)[] = [];
  readonly #endedTurns: string[] = [];
  #held: LiveEvent[] = [];
  #cursor = 0;
  /** Events behind the cursor that the reader had from another connection. */
  #told = 0;
  #wanted = 0;
  #isReading = true;
  #awaitsSnapshot = false;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    const { lane, live, changes } = options;
    this.#endings.push(
      live.subscribe(lane, (event) => this.#onLive(event)),
      changes.follow(lane, (seq) => this.#want(seq)),
    );
  }

  /** Sends what is after the cursor, up to the head that was read. Resolves with where it stands. @throws StoreError */
  async replay({ seq, told }: StreamCursor): Promise<number> {
    this.#cursor = told === 0 ? seq : seq - 1;
    this.#told = told;
    await this.#readOn();
    return this.#cursor;
  }

  /** Goes on live; a turn in progress is asked for its text so far. */
  goLive(head: Pick<LaneHead, 'isRunning'>): void {
    if (head.isRunning) {
      this.#awaitsSnapshot = true;
      this.#options.snapshots.ask(this.#options.lane);
      const waiting = new AbortController();
      this.#endings.push(() => waiting.abort());
      void this.#options.clock.sleep(SNAPSHOT_MS, waiting.signal).then(() => this.#stopAwaiting());
    }
    this.#isReading = false;
    this.#release();
    if (this.#wanted > this.#cursor) void this.#pull();
  }

  close(): void {
    this.#isClosed = true;
    for (const end of this.#endings.splice(0)) end();
    this.#held = [];
  }

  #onLive(event: LiveEvent): void {
    // what is durable is told from its rows, once, whoever announced it and with or without its seq
    if (DURABLE.has(event.type)) this.#want(event.seq === undefined ? this.#cursor + 1 : Number(event.seq));
    else if (event.type === 'turn.snapshot') this.#onSnapshot(event);
    else if (this.#isReading || this.#awaitsSnapshot) this.#hold(event);
    else this.#pass(event);
  }

  /** The worker answers all readers of the lane; what was held of the turn is in it. */
  #onSnapshot(event: LiveEvent): void {
    if (!this.#awaitsSnapshot) return;
    this.#held = this.#held.filter(({ turnId }) => turnId !== event.turnId);
    this.#held.unshift(event);
    this.#stopAwaiting();
  }

  #stopAwaiting(): void {
    this.#awaitsSnapshot = false;
    this.#release();
  }

  #hold(event: LiveEvent): void {
    if (this.#held.length < HELD_MAX) this.#held.push(event);
  }

  #release(): void {
    if (this.#isReading || this.#awaitsSnapshot) return;
    for (const event of this.#held.splice(0)) this.#pass(event);
  }

  #pass(event: LiveEvent): void {
    const isLate = event.turnId !== undefined && this.#endedTurns.includes(event.turnId);
    if (!this.#isClosed && !isLate) this.#options.onEphemeral(event);
  }

  #want(seq: number): void {
    this.#wanted = Math.max(this.#wanted, seq);
    if (!this.#isReading && this.#wanted > this.#cursor) void this.#pull();
  }

  async #pull(): Promise<void> {
    this.#isReading = true;
    try {
      await this.#readOn();
    } catch (error) {
      // the next poll tries again
      this.#wanted = this.#cursor;
      const { tenantId, laneId } = this.#options.lane;
      this.#options.logger.failed(error, { tenantId, laneId }, 'a stream could not read what changed');
    }
    this.#isReading = false;
    this.#release();
    // asked for after the last look of the reading, before its end
    if (!this.#isClosed && this.#wanted > this.#cursor) void this.#pull();
  }

  async #readOn(): Promise<void> {
    while (!this.#isClosed) {
      const page = await this.#options.changes.read(this.#options.lane, this.#cursor);
      if (page === null) this.#wanted = this.#cursor;
      if (page === null || this.#isClosed) return;
      for (const [i, event] of page.events.entries()) {
        this.#tell(event, cursorAt(page.events, i));
        await this.#options.drained();
        if (this.#isClosed) return;
      }
      this.#told = 0;
      const isWhole = page.upTo >= page.head;
      this.#cursor = Math.max(this.#cursor, page.upTo);
      // a signal may run ahead of what its sender has committed elsewhere, never of the lane's head for long
      if (isWhole && (this.#wanted <= this.#cursor || page.events.length === 0)) {
        this.#wanted = Math.min(this.#wanted, this.#cursor);
        return;
      }
    }
  }

  #tell(event: DurableEvent, cursor: StreamCursor): void {
    const { type, turnId } = event;
    if (turnId !== undefined && (type === 'turn.finished' || type === 'turn.interrupted')) {
      this.#endedTurns.push(turnId);
      if (this.#endedTurns.length > ENDED_TURNS_MAX) this.#endedTurns.shift();
    }
    const isKnown = event.seq === this.#cursor + 1 && cursor.told !== 0 && cursor.told <= this.#told;
    if (!isKnown) this.#options.onDurable(event, cursor);
  }
}

/** Where a reader stands after the event at `i`: its seq, or inside it while more events share it. */
function cursorAt(events: readonly DurableEvent[], i: number): StreamCursor {
  const seq = events[i]?.seq ?? 0;
  if (events[i + 1]?.seq !== seq) return { seq, told: 0 };
  return { seq, told: i + 1 - events.findIndex((event) => event.seq === seq) };
}

import {
  type Clock,
  type Counter,
  type DurableEvent,
  formatId,
  type LaneHead,
  type LaneRef,
  type LiveEvent,
  type LiveStream,
  type Logger,
  type PendingEvent,
  type Snapshots,
  type StreamReads,
} from '@turnkeeper/core';
import type { StreamEventData } from '@turnkeeper/protocol';
import type { LaneChanges } from './lane-changes.ts';
import { LaneFollower } from './lane-follower.ts';
import { eventIdOf, type StreamCursor } from './stream-filter.ts';

/** Where the events of a lane go: one answer of server-sent events, or one room of a socket. */
export interface StreamSink {
  durable(event: DurableEvent, cursor: StreamCursor): void;
  ephemeral(event: LiveEvent): void;
  say<Type extends 'stream.open' | 'stream.replayed' | 'stream.reset'>(type: Type, data: StreamEventData[Type]): void;
  /**
   * Awaited after each durable event and before the stream goes live: resolves when the reader has taken enough of what was
   * written that more may be, or when it has gone. Must not wait for ever: who takes nothing is cut off (`slow_consumer`).
   */
  drained(): Promise<void>;
}

export interface SessionStreamsOptions {
  readonly reads: Pick<StreamReads, 'heads' | 'pending'>;
  readonly changes: Pick<LaneChanges, 'follow' | 'read'>;
  readonly live: Pick<LiveStream, 'subscribe'>;
  readonly snapshots: Pick<Snapshots, 'ask'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `stream_replays_total`. */
  readonly replays: Counter;
}

/** A lane that is subscribed to and whose head is known; nothing has been sent yet. */
export interface JoinedLane {
  /** Replays and goes on live, until it is closed. @throws StoreError */
  begin(after: StreamCursor | null): Promise<void>;
  close(): void;
}

/** Streams of lanes for readers of any kind: open → what changed after the cursor → replayed, with what waits → live. */
export class SessionStreams {
  readonly #options: SessionStreamsOptions;

  constructor(options: SessionStreamsOptions) {
    this.#options = options;
  }

  /** Subscribes, then reads where the lane stands. A lane that is not there yet stands at 0. @throws StoreError */
  async join(lane: LaneRef, sink: StreamSink): Promise<JoinedLane> {
    const { reads, changes, live, snapshots, clock, logger } = this.#options;
    const follower = new LaneFollower({
      ...{ lane, changes, live, snapshots, clock, logger },
      onDurable: (event, cursor) => sink.durable(event, cursor),
      onEphemeral: (event) => sink.ephemeral(event),
      drained: () => sink.drained(),
    });
    try {
      const [head] = await reads.heads([lane]);
      const close = () => follower.close();
      const joined = { lane, sink, follower, head: head ?? null };
      return { close, begin: (after) => this.#begin(joined, after).catch((error: unknown) => this.#fail(error, lane)) };
    } catch (error) {
      follower.close();
      throw error;
    }
  }

  #fail(error: unknown, { tenantId, laneId }: LaneRef): never {
    this.#options.logger.failed(error, { tenantId, laneId }, 'a stream ends: what it replays could not be read');
    throw error;
  }

  async #begin(
    joined: {
      readonly lane: LaneRef;
      readonly sink: StreamSink;
      readonly follower: LaneFollower;
      readonly head: LaneHead | null;
    },
    after: StreamCursor | null,
  ): Promise<void> {
    const { lane, sink, follower, head } = joined;
    let headSeq = head?.seq ?? 0;
    if (after !== null && after.seq > headSeq) headSeq = (await this.#options.reads.heads([lane]))[0]?.seq ?? 0;
    // a cursor from before the lane was deleted and made anew, or from another database
    const isUnknown = after !== null && after.seq > headSeq;
    const cursor = isUnknown ? { seq: 0, told: 0 } : (after ?? { seq: headSeq, told: 0 });
    sink.say('stream.open', { replayFrom: cursor.seq, headSeq, cursor: eventIdOf(cursor) });
    if (isUnknown) sink.say('stream.reset', { reason: 'cursor_unknown', headSeq });
    if (after !== null) this.#options.replays.inc();
    const replayedTo = await follower.replay(cursor);
    const pending = await this.#options.reads.pending(lane);
    sink.say('stream.replayed', { replayedTo, cursor: String(replayedTo), pending: pending.map(pendingAnswer) });
    follower.goLive({ isRunning: head?.isRunning ?? false });
  }
}

function pendingAnswer({ eventId, clientId, position }: PendingEvent) {
  const id = { eventId: formatId('evt', eventId), runId: formatId('run', eventId) };
  return { ...id, ...(clientId === null ? {} : { clientId }), position };
}

import type { LaneId, LaneRef } from '@turnkeeper/core';
import type { JoinedLane, SessionStreams, StreamSink } from '../streams/session-streams.ts';
import { eventIdOf, type StreamCursor } from '../streams/stream-filter.ts';
import type { SocketLink, Subject } from './socket-link.ts';

export interface JoinedRoomsOptions {
  readonly link: SocketLink;
  readonly sessionStreams: Pick<SessionStreams, 'join'>;
  /** Which types its reader wants, and may have. */
  readonly passes: (type: string) => boolean;
  /** A stream could not be read on: the socket ends, and its client comes back with its cursors. */
  readonly onLost: () => void;
}

const JOINED_MAX = 100;

/** The lanes that one socket follows. All calls come one after the other. */
export class JoinedRooms {
  readonly #options: JoinedRoomsOptions;
  readonly #joined = new Map<LaneId, JoinedLane>();

  constructor(options: JoinedRoomsOptions) {
    this.#options = options;
    options.link.onEnd(() => {
      for (const laneId of [...this.#joined.keys()]) this.leave(laneId);
    });
  }

  has(laneId: LaneId): boolean {
    return this.#joined.has(laneId);
  }

  /**
   * Follows the lane from a cursor, or from now on; one that is followed already begins anew. Resolves once nothing that
   * comes can be missed: what it has to replay follows. False: too many are followed. @throws StoreError
   */
  async join(lane: LaneRef, subject: Subject, after: StreamCursor | null): Promise<boolean> {
    this.leave(lane.laneId);
    if (this.#joined.size >= JOINED_MAX) return false;
    const { link, sessionStreams, onLost } = this.#options;
    const joined = await sessionStreams.join(lane, this.#sinkOf(subject));
    if (!link.isOpen) {
      joined.close();
      return true;
    }
    this.#joined.set(lane.laneId, joined);
    joined.begin(after).catch(() => onLost());
    return true;
  }

  leave(laneId: LaneId): void {
    this.#joined.get(laneId)?.close();
    this.#joined.delete(laneId);
  }

  #sinkOf(subject: Subject): StreamSink {
    const { link, passes } = this.#options;
    return {
      durable: (event, cursor) => {
        if (passes(event.type)) link.durable(event, { ...subject, id: eventIdOf(cursor) });
      },
      ephemeral: (event) => {
        // nobody is told that it types itself
        if (passes(event.type) && event.data['from'] !== link.id) link.ephemeral(event, subject);
      },
      say: (type, data) => link.say(type, data, subject),
      drained: () => link.drained(),
    };
  }
}

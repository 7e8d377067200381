import type { Clock, Counter, LiveStream, Logger, Micros, StreamReads, TenantId } from '@turnkeeper/core';
import { writeTenantEventId } from '@turnkeeper/protocol';
import type { LaneChanges } from './lane-changes.ts';
import type { StreamSink } from './session-streams.ts';
import type { TenantChanges } from './tenant-changes.ts';
import { TenantFollower, type TenantSink } from './tenant-follower.ts';

export interface TenantStreamsOptions {
  readonly reads: Pick<StreamReads, 'tenantChanges' | 'seqsAt'>;
  readonly changes: Pick<LaneChanges, 'read'>;
  readonly tenantChanges: Pick<TenantChanges, 'follow' | 'look'>;
  readonly live: Pick<LiveStream, 'subscribeTenant'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `stream_replays_total`. */
  readonly replays: Counter;
}

/** A tenant that is subscribed to; nothing has been sent yet. */
export interface JoinedTenant {
  /** Replays and goes on live; resolves when it is closed. @throws StoreError */
  begin(after: Micros | null): Promise<void>;
  /** Where a reader goes on now: all that changed up to here has been told. Null before it has begun. */
  readonly cursor: string | null;
  close(): void;
}

/** What is older is not replayed: the reader is told so, and begins now. */
const REPLAY_MICROS_MAX = 15 * 60_000_000;

/** Streams of all lanes of a tenant: open → what changed behind the cursor → replayed → live. */
export class TenantStreams {
  readonly #options: TenantStreamsOptions;

  constructor(options: TenantStreamsOptions) {
    this.#options = options;
  }

  /** @throws StoreError */
  async join(tenantId: TenantId, sink: TenantSink & Pick<StreamSink, 'say'>): Promise<JoinedTenant> {
    const { reads, replays } = this.#options;
    const follower = new TenantFollower({ ...this.#options, tenantId, sink });
    try {
      const { now } = await reads.tenantChanges(tenantId, null);
      const begin = async (after: Micros | null) => {
        const fault = after === null ? null : cursorFault(after, now);
        const from = after === null || fault !== null ? now : after;
        sink.say('stream.open', { replayFrom: null, headSeq: null, cursor: writeTenantEventId(from) });
        if (fault !== null) sink.say('stream.reset', { reason: fault, headSeq: null });
        if (after !== null) replays.inc();
        await follower.replay(from);
        const cursor = writeTenantEventId(follower.toldTo);
        sink.say('stream.replayed', { replayedTo: null, cursor, pending: [] });
        await follower.goOn();
      };
      const fail = (error: unknown) => {
        this.#options.logger.failed(
          error,
          { tenantId },
          'a stream of a tenant ends: what it replays could not be read',
        );
        throw error;
      };
      return {
        begin: (after) => begin(after).catch(fail),
        close: () => follower.close(),
        get cursor() {
          return follower.toldTo === 0 ? null : writeTenantEventId(follower.toldTo);
        },
      };
    } catch (error) {
      follower.close();
      throw error;
    }
  }
}

function cursorFault(after: Micros, now: Micros): 'cursor_unknown' | 'cursor_too_old' | null {
  if (after > now) return 'cursor_unknown';
  return after < now - REPLAY_MICROS_MAX ? 'cursor_too_old' : null;
}

import type { Clock, Logger, Micros, StreamReads, TenantId, TenantPage } from '@turnkeeper/core';

export interface TenantChangesOptions {
  readonly reads: Pick<StreamReads, 'tenantChanges'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Changed = TenantPage['lanes'];

/**
 * A page of lanes that changed, with where each stands; once they have been read, all that changed up to `toldTo` has been
 * told to the reader, from where it began.
 */
type OnChanged = (lanes: Changed, toldTo: Micros) => void;

interface Followed {
  /** With the moment up to which each has been told what changed. */
  readonly readers: Map<OnChanged, Micros>;
  readonly stop: AbortController;
}

const POLL_MS = 2_000;
/** A transaction may commit so much later than the moment that its rows have. */
const OVERLAP_MICROS = 8_000_000;

/**
 * Which lanes of a tenant changed (decision 0009): by one poll for each tenant that is followed, however many readers this
 * node has of it, and by looks of a single reader that has to catch up.
 */
export class TenantChanges {
  readonly #options: TenantChangesOptions;
  readonly #followed = new Map<TenantId, Followed>();

  constructor(options: TenantChangesOptions) {
    this.#options = options;
  }

  /** Tells what changed behind `since`, every 2 s, until the returned function is called. */
  follow(tenantId: TenantId, since: Micros, onChanged: OnChanged): () => void {
    const known = this.#followed.get(tenantId);
    const followed = known ?? { readers: new Map(), stop: new AbortController() };
    followed.readers.set(onChanged, since);
    if (known === undefined) {
      this.#followed.set(tenantId, followed);
      void this.#poll(tenantId, followed);
    }
    return () => {
      followed.readers.delete(onChanged);
      if (followed.readers.size > 0 || this.#followed.get(tenantId) !== followed) return;
      this.#followed.delete(tenantId);
      followed.stop.abort();
    };
  }

  /** What changed behind `since`, page by page, each when the one before it has been read. @throws StoreError */
  async *look(tenantId: TenantId, since: Micros): AsyncGenerator<{ lanes: Changed; toldTo: Micros }, void, undefined> {
    for (let from = since; ; ) {
      const { lanes, upTo, now } = await this.#options.reads.tenantChanges(tenantId, from);
      const known = now - OVERLAP_MICROS;
      if (upTo === null) {
        yield { lanes, toldTo: known };
        return;
      }
      // more than a page within one millisecond is found by what its turns end with
      from = Math.max(upTo, from + 1_000);
      yield { lanes, toldTo: Math.min(from, known) };
    }
  }

  async #poll(tenantId: TenantId, followed: Followed): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = followed.stop;
    let isAway = false;
    for (;;) {
      await clock.sleep(POLL_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#lookForAll(tenantId, followed);
        isAway = false;
      } catch (error) {
        if (!isAway)
          logger.failed(error, { tenantId }, 'what changed of a tenant cannot be read: its streams are late');
        isAway = true;
      }
    }
  }

  /** Who comes meanwhile is told by the next look, which begins where it stands. */
  async #lookForAll(tenantId: TenantId, { readers, stop }: Followed): Promise<void> {
    const asked = [...readers.keys()];
    for await (const { lanes, toldTo } of this.look(tenantId, Math.min(...readers.values()))) {
      if (stop.signal.aborted) return;
      for (const onChanged of asked) {
        const before = readers.get(onChanged);
        if (before === undefined) continue;
        readers.set(onChanged, Math.max(before, toldTo));
        onChanged(lanes, toldTo);
      }
    }
  }
}

import {
  Batcher,
  type Clock,
  type EarlierEvent,
  type EarlierEvents,
  type EarlierRequest,
  type Ids,
} from '@turnkeeper/core';

/** Each may bring hundreds of short rows. */
const LOOKS_PER_BATCH = 32;
/** A worker's turns bound what waits. */
const QUEUE_MAX = Number.POSITIVE_INFINITY;
const RETRY = { attemptsMax: 3, baseMs: 50, capMs: 500 };

/** What came before the messages of bots: asked for together, a statement for those of a tick. */
export function earlierEvents(parts: {
  readonly store: EarlierEvents;
  readonly clock: Clock;
  readonly ids: Ids;
}): (request: EarlierRequest) => Promise<readonly EarlierEvent[]> {
  const { store, clock, ids } = parts;
  const looks = new Batcher<EarlierRequest, readonly EarlierEvent[]>({
    ...{ name: 'earlier-events', itemsMax: LOOKS_PER_BATCH, queueMax: QUEUE_MAX, flushesMax: 1, retry: RETRY },
    ...{ clock, ids },
    flush: (items) => store.earlier(items),
    onRowError: () => undefined,
  });
  return (request) => looks.add(request);
}

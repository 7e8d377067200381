import type { LaneId, LaneRef, Snapshots } from '@turnkeeper/core';
import { readWatch, writeWatch } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { snapshotSubject } from './subjects.ts';

/** Asks every worker; the one that runs the lane's turn publishes its text so far to the lane's readers. */
export class NatsSnapshots implements Snapshots {
  readonly #link: BusLink;

  constructor(link: BusLink) {
    this.#link = link;
  }

  ask({ laneId }: LaneRef): void {
    this.#link.publish(snapshotSubject(this.#link.prefix), writeWatch({ lanes: [laneId], tenants: [] }));
  }

  onAsked(handler: (laneId: LaneId) => void): () => void {
    return this.#link.subscribe(snapshotSubject(this.#link.prefix), (text) => {
      for (const laneId of readWatch(text)?.lanes ?? []) handler(laneId);
    });
  }
}

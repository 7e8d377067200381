import type { LaneRef, SeenMarks } from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const SEEN = call('seen', 4);

/** What was read of what web chat offers, on the role `tk_engine`. */
export class SeenStore implements SeenMarks {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async seen({ tenantId, slot, laneId }: LaneRef, seq: number): Promise<void> {
    await this.#database.query(SEEN, [tenantId, slot, laneId, seq]);
  }
}

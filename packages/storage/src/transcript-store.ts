import type { LaneRef, SessionId, TranscriptEntry, TranscriptStore } from '@turnkeeper/core';
import { call, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

const TRANSCRIPT = call('transcript', 7);

/** What sessions hold, in Postgres as tk_engine. */
export class PostgresTranscriptStore implements TranscriptStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  recent(
    lane: LaneRef,
    sessionId: SessionId,
    bounds: { readonly beforeSeq: string; readonly limit: number },
  ): Promise<readonly TranscriptEntry[]> {
    const { slot, tenantId, laneId } = lane;
    const values = [tenantsOf([tenantId]), slot, tenantId, laneId, sessionId, bounds.beforeSeq, bounds.limit];
    return this.#database.query<TranscriptEntry>(TRANSCRIPT, values);
  }
}

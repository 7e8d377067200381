import type { TranscriptEntry, TranscriptRequest, TranscriptStore } from '@turnkeeper/core';
import { call, columns, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

const TRANSCRIPT = call('transcript', 7);

/** What sessions hold, in Postgres as tk_engine. */
export class PostgresTranscriptStore implements TranscriptStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async recent(items: readonly TranscriptRequest[], limit: number): Promise<TranscriptEntry[][]> {
    const rows = await this.#database.query<TranscriptEntry & { readonly i: number }>(TRANSCRIPT, [
      tenantsOf(items.map(({ lane }) => lane.tenantId)),
      ...columns<TranscriptRequest>(
        items,
        ({ lane }) => lane.slot,
        ({ lane }) => lane.tenantId,
        ({ lane }) => lane.laneId,
        ({ sessionId }) => sessionId,
        ({ beforeSeq }) => beforeSeq,
      ),
      limit,
    ]);
    const found: TranscriptEntry[][] = items.map(() => []);
    for (const { i, seq, role, body } of rows) found[i - 1]?.push({ seq, role, body });
    return found;
  }
}

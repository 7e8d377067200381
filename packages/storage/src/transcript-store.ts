import type {
  EarlierEvent,
  EarlierEvents,
  EarlierRequest,
  StoppedTurnWords,
  StoppedWordsStore,
  TranscriptEntry,
  TranscriptRequest,
  TranscriptStore,
} from '@turnkeeper/core';
import { call, columns, json, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

const TRANSCRIPT = call('transcript', 7);
const EARLIER_EVENTS = call('earlier_events_of', 7);
const KEEP_WORDS = call('keep_words', 6);

/** What sessions hold, in Postgres as tk_engine. */
export class PostgresTranscriptStore implements TranscriptStore, EarlierEvents, StoppedWordsStore {
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

  async earlier(items: readonly EarlierRequest[]): Promise<EarlierEvent[][]> {
    type Row = { readonly i: number; readonly by_person: boolean; readonly answered: boolean };
    const rows = await this.#database.query<Row>(EARLIER_EVENTS, [
      tenantsOf(items.map(({ lane }) => lane.tenantId)),
      ...columns<EarlierRequest>(
        items,
        ({ lane }) => lane.slot,
        ({ lane }) => lane.tenantId,
        ({ lane }) => lane.laneId,
        ({ ord }) => ord,
        ({ withinMs }) => withinMs,
        ({ limit }) => limit,
      ),
    ]);
    const found: EarlierEvent[][] = items.map(() => []);
    for (const { i, by_person, answered } of rows) found[i - 1]?.push({ byPerson: by_person, answered });
    return found;
  }

  async keepWords({ lane, turnId, messageId, text }: StoppedTurnWords): Promise<string | null> {
    const { tenantId, slot, laneId } = lane;
    const values = [tenantId, slot, laneId, turnId, messageId, json(text)];
    const [row] = await this.#database.query<{ readonly seq: string }>(KEEP_WORDS, values);
    return row?.seq ?? null;
  }
}

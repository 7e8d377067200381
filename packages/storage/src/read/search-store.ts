import {
  type AgentId,
  decodeCursor,
  encodeCursor,
  type MessageId,
  type Page,
  type SearchFilter,
  type SearchHit,
  type SearchReads,
  type SessionId,
  type TenantId,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import { asTenant, type QueryBuilder, queryBuilder } from './queries.ts';
import { type SearchRow, type SearchSource, selectHits } from './search-query.ts';

const LIST = 'search';
const LANE_LIST = 'lane-search';
/** Above every place; a cursor that has not come to a kind of message yet begins there. */
const NEWEST = { id: 'ffffffff-ffff-ffff-ffff-ffffffffffff', number: '999999999999999999' } as const;

/**
 * Search in transcripts, on the role `tk_api`, without an index of words (decision 0014): what came in and what went out are
 * two walks, newest first, each of a bounded length, put together by their ids, which are in order of time.
 */
export class SearchStore implements SearchReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async search(tenantId: TenantId, filter: SearchFilter): Promise<Page<SearchHit>> {
    const isOfLane = filter.lane !== undefined;
    const [inbound, outbound] = placesOf(filter.cursor, isOfLane);
    if (filter.terms.length === 0) return { rows: [], nextCursor: null };
    const walks = await asTenant(this.#database, tenantId, async (run) => {
      const walk = async (from: SearchSource, below: string | undefined) => {
        const rows = await run({ compile: () => selectHits(tenantId, { filter, from, below }).compile(this.#build) });
        return new Walk(rows, below);
      };
      return [await walk('inbound', inbound), await walk('outbound', outbound)] as const;
    });
    const rows = merge(walks, filter.limit);
    const isOver = walks.every((walk) => walk.isOver);
    const places = walks.map((walk) => walk.place ?? (isOfLane ? NEWEST.number : NEWEST.id));
    return { rows: rows.map(hitOf), nextCursor: isOver ? null : encodeCursor(isOfLane ? LANE_LIST : LIST, places) };
  }
}

/** One kind of message: the hits that were found, and how far it was looked for them. */
class Walk {
  readonly #hits: SearchRow[];
  readonly #end: SearchRow | undefined;
  /** Everything above it has been answered, or holds nothing. */
  place: string | undefined;

  constructor(rows: readonly SearchRow[], below: string | undefined) {
    this.#hits = rows.filter((row) => !row.is_end);
    this.#end = rows.find((row) => row.is_end);
    this.place = below;
  }

  get head(): SearchRow | undefined {
    return this.#hits[0];
  }

  /** The newest id that it may still have something at; undefined: nothing. */
  get reaches(): string | undefined {
    return this.#hits[0]?.id ?? this.#end?.id;
  }

  get isOver(): boolean {
    return this.#hits.length === 0 && this.#end === undefined;
  }

  take(): void {
    this.place = this.#hits.shift()?.place ?? this.place;
  }

  /** All its hits were taken: the next page looks behind the last row that was looked at. */
  close(): void {
    if (this.#hits.length === 0) this.place = this.#end?.place ?? this.place;
  }
}

/** Newest first, until one of the walks would have to be led on to know what comes next. */
function merge(walks: readonly [Walk, Walk], limit: number): SearchRow[] {
  const taken: SearchRow[] = [];
  while (taken.length < limit) {
    const [a, b] = walks;
    const next = (a.reaches ?? '') >= (b.reaches ?? '') ? a : b;
    const { head } = next;
    if (head === undefined) break;
    taken.push(head);
    next.take();
  }
  for (const walk of walks) walk.close();
  return taken;
}

function placesOf(cursor: string | undefined, isOfLane: boolean): [string | undefined, string | undefined] {
  if (cursor === undefined) return [undefined, undefined];
  const part = isOfLane ? 'integer' : 'uuid';
  const [inbound, outbound] = decodeCursor(isOfLane ? LANE_LIST : LIST, cursor, [part, part]);
  return [inbound, outbound];
}

function hitOf(row: SearchRow): SearchHit {
  return {
    messageId: row.id as MessageId,
    sessionKey: row.key ?? '',
    sessionId: (row.session_id ?? '') as SessionId,
    agentId: (row.agent_id ?? '') as AgentId,
    role: (row.role ?? 'notice') as SearchHit['role'],
    seq: Number(row.seq),
    snippet: row.snippet ?? '',
    createdAt: row.at ?? new Date(0),
  };
}

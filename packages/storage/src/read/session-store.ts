import {
  decodeCursor,
  encodeCursor,
  type HistoryEntry,
  type HistoryRequest,
  type Page,
  type SessionFilter,
  type SessionReads,
  type SessionRecord,
  type SessionSelector,
  type TenantId,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import {
  type HistoryPlace,
  NEWEST,
  newestOf,
  placeInbound,
  placeOutbound,
  selectInbound,
  selectOutbound,
} from './history-query.ts';
import { pageOf } from './page.ts';
import { asTenant, type QueryBuilder, queryBuilder } from './queries.ts';
import { selectById, selectByKey, selectFiltered, sessionOf } from './session-query.ts';

const LIST = 'sessions';
const HISTORY = 'history';

/** Conversations and their transcripts, on the role `tk_api`. */
export class SessionStore implements SessionReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenantId: TenantId, selector: SessionSelector): Promise<SessionRecord | 'missing' | 'ambiguous'> {
    const query =
      selector.by === 'id'
        ? selectById(this.#build, tenantId, selector.sessionId)
        : selectByKey(this.#build, tenantId, selector);
    const [row, second] = await asTenant(this.#database, tenantId, (run) => run(query.limit(2)));
    if (!row) return 'missing';
    return second ? 'ambiguous' : sessionOf(row);
  }

  async list(tenantId: TenantId, filter: SessionFilter): Promise<Page<SessionRecord>> {
    const [time, id] = filter.cursor === undefined ? [] : decodeCursor(LIST, filter.cursor, ['time', 'uuid']);
    const query = selectFiltered(this.#build, tenantId, filter)
      .$if(time !== undefined, (q) =>
        // the plain bound is the one that the index can use
        q.where(
          sql<SqlBool>`l.created_at <= ${time}::timestamptz and (l.created_at < ${time}::timestamptz or l.id < ${id}::uuid)`,
        ),
      )
      .limit(filter.limit + 1);
    const rows = await asTenant(this.#database, tenantId, (run) => run(query));
    const page = pageOf(rows, filter.limit, (last) => encodeCursor(LIST, [last.created_text, last.lane_id]));
    return { rows: page.rows.map(sessionOf), nextCursor: page.nextCursor };
  }

  async history(tenantId: TenantId, session: SessionRecord, request: HistoryRequest): Promise<Page<HistoryEntry>> {
    const below = placeOf(request.cursor);
    const { sessionId, lane } = session;
    if (sessionId === null) return { rows: [], nextCursor: null };
    const range = { lane, sessionId, below, before: request.before, limit: request.limit + 1 };
    const [inbound, outbound] = await asTenant(this.#database, tenantId, async (run) => [
      await run(selectInbound(this.#build, range)),
      await run(selectOutbound(this.#build, range, request.includeTools)),
    ]);
    const page = newestOf(inbound.map(placeInbound), outbound.map(placeOutbound), { limit: request.limit, below });
    const nextCursor = page.hasMore ? encodeCursor(HISTORY, [page.below.ord, page.below.seq, page.below.n]) : null;
    return { rows: page.taken.map(({ entry }) => entry), nextCursor };
  }
}

function placeOf(cursor: string | undefined): HistoryPlace {
  if (cursor === undefined) return NEWEST;
  const [ord, seq, n] = decodeCursor(HISTORY, cursor, ['integer', 'integer', 'integer']);
  return { ord: ord ?? '0', seq: seq ?? '0', n: n ?? '0' };
}

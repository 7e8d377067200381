import type { SearchFilter, TenantId } from '@turnkeeper/core';
import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** Messages of each kind that one page looks at, and bytes of their texts. */
const ROWS_MAX = 1_000;
const BYTES_MAX = 4 * 1024 * 1024;
const SNIPPET_LENGTH = 300;
const SNIPPET_LEAD = 40;

/** A hit, or (`is_end`) the last row that was looked at when there may be more behind it. */
export interface SearchRow {
  readonly is_end: boolean;
  /** Where the next page goes on: `id` of the tenant's messages, `ord` or `seq` within a lane. */
  readonly place: string;
  readonly id: string;
  readonly key: string | null;
  readonly agent_id: string | null;
  readonly session_id: string | null;
  readonly role: string | null;
  readonly seq: string | null;
  readonly snippet: string | null;
  readonly at: Date | null;
}

interface Source {
  readonly table: RawBuilder<unknown>;
  readonly role: RawBuilder<unknown>;
  readonly at: RawBuilder<unknown>;
  /** Within a lane: a number that orders its rows, the same by columns of an index, and a bound that the index can use. */
  readonly place: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
  readonly bound: (below: string) => RawBuilder<unknown>;
  readonly isSaid: RawBuilder<SqlBool>;
}

const SOURCES = {
  inbound: {
    table: sql`tk.events`,
    role: sql`'user'`,
    at: sql`x.accepted_at`,
    place: sql`x.ord`,
    order: sql`x.ord desc`,
    bound: (below) => sql`x.ord < ${below}::bigint`,
    isSaid: sql<SqlBool>`x.seq is not null`,
  },
  outbound: {
    table: sql`tk.messages`,
    role: sql`x.role`,
    at: sql`x.at`,
    place: sql`(x.seq * 65536 + x.n)`,
    order: sql`x.seq desc, x.n desc`,
    bound: (below) => sql`x.seq <= ${below}::bigint / 65536 and x.seq * 65536 + x.n < ${below}::bigint`,
    isSaid: sql<SqlBool>`x.role in ('assistant', 'notice', 'user')`,
  },
} as const satisfies Record<string, Source>;

export type SearchSource = keyof typeof SOURCES;

/**
 * The newest messages of one kind below a place, as many as a page looks at, and of these what holds all terms. What was
 * said in a session that has been deleted is not looked at: its row is gone before its words are. Stored bytes are counted
 * first, without unpacking anything, so that few texts that do not fit are unpacked to be measured.
 */
export function selectHits(
  tenantId: TenantId,
  { filter, from, below }: { filter: SearchFilter; from: SearchSource; below: string | undefined },
) {
  const { table, role, at, isSaid, ...inLane }: Source = SOURCES[from];
  const { lane, sessionId, agentId, terms, limit } = filter;
  const place = lane === undefined ? sql`x.id` : inLane.place;
  const order = lane === undefined ? sql`x.id desc` : inLane.order;
  const ofLane = lane === undefined ? sql`true` : sql`x.slot = ${lane.slot} and x.lane_id = ${lane.laneId}::uuid`;
  const isBelow = boundOf(below, lane === undefined ? (id) => sql`x.id < ${id}::uuid` : inLane.bound);
  const first = terms[0] ?? '';
  const holdsAll = sql.join(
    terms.map((term) => sql`strpos(lower(b.text), ${term}::text) > 0`),
    sql` and `,
  );
  return sql<SearchRow>`
    with walked as materialized (
      select x.slot, x.tenant_id, x.lane_id, x.session_id, x.id, x.seq, x.body, ${place} place, ${role} role, ${at} at, ${isSaid} said,
             row_number() over w rn, sum(pg_column_size(x.body)) over w stored
      from (
        select x.* from ${table} x
        where x.tenant_id = ${tenantId}::uuid and ${ofLane} and ${isBelow}
        order by ${order} limit ${ROWS_MAX}) x
      window w as (order by ${place} desc)),
    weighed as materialized (
      select w.*, coalesce(sum(octet_length(w.body ->> 'text')) filter (where w.said) over (order by w.rn), 0) size
      from walked w where w.stored <= ${BYTES_MAX} or w.rn = 1),
    looked as materialized (select w.* from weighed w where w.size <= ${BYTES_MAX} or w.rn = 1),
    hits as (
      select false is_end, b.place::text, b.id::text, z.key, z.agent_id::text, b.session_id::text, b.role, b.seq::text,
             substr(b.text, greatest(1, least(strpos(lower(b.text), ${first}::text) - ${SNIPPET_LEAD}::int, length(b.text) - ${SNIPPET_LENGTH - 1}::int)),
                    ${SNIPPET_LENGTH}::int) snippet, b.at
      from (select l.*, coalesce(l.body ->> 'text', '') text from looked l where l.said and l.session_id is not null) b
      cross join lateral (
        select s.id from tk.sessions s where s.slot = b.slot and s.tenant_id = b.tenant_id and s.id = b.session_id limit 1) s
      cross join lateral (
        select z.key, z.agent_id from tk.lanes z where z.slot = b.slot and z.tenant_id = b.tenant_id and z.id = b.lane_id limit 1) z
      where ${holdsAll} and ${sessionId === undefined ? sql`true` : sql`b.session_id = ${sessionId}::uuid`}
        and ${agentId === undefined ? sql`true` : sql`z.agent_id = ${agentId}::uuid`}
      order by b.rn limit ${limit + 1})
    select * from hits
    union all
    (select true, l.place::text, l.id::text, null, null, null, null, null, null, null from looked l
     where (select count(*) from walked) = ${ROWS_MAX} or (select count(*) from looked) < (select count(*) from walked)
     order by l.rn desc limit 1)`;
}

function boundOf(below: string | undefined, bound: Source['bound']): RawBuilder<unknown> {
  return below === undefined ? sql`true` : bound(below);
}

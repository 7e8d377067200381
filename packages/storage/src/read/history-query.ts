import {
  EVENT_KIND,
  type EventBody,
  type HistoryEntry,
  type LaneRef,
  type MessageId,
  type SessionId,
  type TurnId,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { QueryBuilder, RowOf } from './queries.ts';
import { isRunning } from './run-query.ts';

/** Where a page ends: everything older is below both places. */
export interface HistoryPlace {
  /** `events.ord`. */
  readonly ord: string;
  /** `messages.seq`, `messages.n`. */
  readonly seq: string;
  readonly n: string;
}

export const NEWEST: HistoryPlace = { ord: '999999999999999999', seq: '999999999999999999', n: '0' };

export interface HistoryRange {
  readonly lane: LaneRef;
  readonly sessionId: SessionId;
  readonly below: HistoryPlace;
  readonly before: number | undefined;
  readonly limit: number;
}

/** Entries with what orders them: seq, then the people before the agent, then their own order. */
export interface Placed {
  readonly entry: HistoryEntry;
  readonly isInbound: boolean;
  /** `ord` of an event, `n` of a message. */
  readonly position: string;
}

/** Inbound events that a turn of the session took, newest first; those of the running turn by the lane's row. */
export function selectInbound(build: QueryBuilder, { lane, sessionId, below, before, limit }: HistoryRange) {
  const seq = sql<string>`case when ${isRunning} then coalesce(e.seq, l.turn_seq) else e.seq end`;
  return build
    .selectFrom('tk.events as e')
    .innerJoin('tk.lanes as l', (join) =>
      join.onRef('l.slot', '=', 'e.slot').onRef('l.tenant_id', '=', 'e.tenant_id').onRef('l.id', '=', 'e.lane_id'),
    )
    .select(['e.id', 'e.ord', 'e.kind', 'e.body', 'e.accepted_at', seq.as('seq')])
    .select(sql<string | null>`case when ${isRunning} then l.turn_id else e.turn_id end`.as('turn_id'))
    .where('e.slot', '=', lane.slot)
    .where('e.tenant_id', '=', lane.tenantId)
    .where('e.lane_id', '=', lane.laneId)
    .where('e.ord', '<', below.ord)
    .where(
      sql<SqlBool>`(e.session_id = ${sessionId} and e.seq is not null or ${isRunning} and l.session_id = ${sessionId})`,
    )
    .$if(before !== undefined, (q) => q.where(sql<SqlBool>`${seq} < ${String(before)}::bigint`))
    .orderBy('e.ord', 'desc')
    .limit(limit);
}

/** Outbound messages of the session, newest first; tool steps only when asked for. */
export function selectOutbound(
  build: QueryBuilder,
  { lane, sessionId, below, before, limit }: HistoryRange,
  includeTools: boolean,
) {
  return build
    .selectFrom('tk.messages as m')
    .select(['m.id', 'm.seq', 'm.n', 'm.role', 'm.body', 'm.turn_id', 'm.at'])
    .where('m.slot', '=', lane.slot)
    .where('m.tenant_id', '=', lane.tenantId)
    .where('m.lane_id', '=', lane.laneId)
    .where('m.seq', '<=', below.seq)
    .where((of) => of.or([of('m.seq', '<', below.seq), of('m.n', '<', Number(below.n))]))
    .where('m.session_id', '=', sessionId)
    .$if(!includeTools, (q) => q.where('m.role', 'in', ['assistant', 'notice', 'user']))
    .$if(before !== undefined, (q) => q.where('m.seq', '<', String(before)))
    .orderBy('m.seq', 'desc')
    .orderBy('m.n', 'desc')
    .limit(limit);
}

type InboundRow = RowOf<typeof selectInbound>;
type OutboundRow = RowOf<typeof selectOutbound>;

/** A message that came in keeps its event's id. */
export function placeInbound(row: InboundRow): Placed {
  const entry: HistoryEntry = {
    messageId: row.id as MessageId,
    seq: Number(row.seq),
    role: 'user',
    author: row.kind === EVENT_KIND.wake ? 'system' : 'human',
    body: row.body satisfies EventBody,
    turnId: row.turn_id as TurnId | null,
    createdAt: row.accepted_at,
  };
  return { entry, isInbound: true, position: row.ord };
}

export function placeOutbound(row: OutboundRow): Placed {
  const entry: HistoryEntry = {
    messageId: row.id as MessageId,
    seq: Number(row.seq),
    role: row.role,
    author: row.role === 'notice' ? 'system' : row.role === 'user' ? 'human' : (row.body.author ?? 'agent'),
    body: row.body,
    turnId: (row.turn_id ?? row.body.turnId ?? null) as TurnId | null,
    createdAt: row.at,
  };
  return { entry, isInbound: false, position: String(row.n) };
}

/**
 * The newest `limit` of two lists that are each newest first, and the place below them. Inbound events come by `ord`,
 * which may differ from the order in which turns took them (an event that committed late has a low one): so each list
 * keeps a place of its own and nothing is skipped, and the page is sorted by what turns saw.
 */
export function newestOf(
  inbound: readonly Placed[],
  outbound: readonly Placed[],
  page: { readonly limit: number; readonly below: HistoryPlace },
): { readonly taken: Placed[]; readonly below: HistoryPlace; readonly hasMore: boolean } {
  let ins = 0;
  let outs = 0;
  while (ins + outs < page.limit && (ins < inbound.length || outs < outbound.length)) {
    if (isNewer(inbound[ins], outbound[outs])) ins++;
    else outs++;
  }
  const [lastIn, lastOut] = [inbound[ins - 1], outbound[outs - 1]];
  const below = {
    ord: lastIn?.position ?? page.below.ord,
    seq: lastOut ? String(lastOut.entry.seq) : page.below.seq,
    n: lastOut?.position ?? page.below.n,
  };
  const taken = [...inbound.slice(0, ins), ...outbound.slice(0, outs)].sort(byTurn);
  return { taken, below, hasMore: ins < inbound.length || outs < outbound.length };
}

function isNewer(inbound: Placed | undefined, outbound: Placed | undefined): boolean {
  if (!inbound || !outbound) return inbound !== undefined;
  return inbound.entry.seq > outbound.entry.seq;
}

function byTurn(a: Placed, b: Placed): number {
  return (
    a.entry.seq - b.entry.seq ||
    Number(b.isInbound) - Number(a.isInbound) ||
    Number(BigInt(a.position) - BigInt(b.position))
  );
}

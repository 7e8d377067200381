import {
  type AccountId,
  type AgentId,
  AppError,
  type BootId,
  type ClaimedEvent,
  type ClaimedTurn,
  type ClaimRequest,
  type ClaimResult,
  EVENT_KIND,
  type EventBody,
  type EventId,
  type EventKind,
  type SessionFacts,
  type SessionId,
  type Source,
  TURN_REASON,
  type TurnId,
  type TurnReason,
} from '@turnkeeper/core';
import { call, columns, json, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

export const CLAIM = call('claim', 8);
/** Every lane is claimed alone in here, in one transaction: locked lanes are skipped, so the order does not matter. */
export const CLAIM_SPECIAL = {
  name: 'claim_special',
  text: `select q.o::int as i, c.*
    from unnest($3::smallint[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::jsonb[]) with ordinality q(s, t, l, n, x, r, o)
    cross join lateral tk.claim_special($1, $2, q.s, q.t, q.l, q.n, q.x, q.r) c`,
};

/** One row per event of a claimed turn; one row with only `i` and `result` for every other answer. */
interface ClaimRow {
  readonly i: number;
  readonly result: 'claimed' | 'special' | 'undecided' | 'empty' | 'busy' | 'skipped' | 'held' | 'not_live' | 'missing';
  readonly fence: string;
  readonly session_id: SessionId;
  readonly seq: string;
  readonly agent_id: AgentId;
  readonly key: string;
  readonly source: Source;
  readonly reason: number;
  readonly resume_of: TurnId | null;
  readonly started_at: Date;
  readonly ord: string;
  readonly event_id: EventId;
  readonly kind: number;
  readonly account_id: AccountId | null;
  readonly attempts: number;
  readonly body: EventBody;
  readonly accepted_at: Date;
  readonly traceparent: string | null;
  /** Of `undecided` only, which the first statement never answers. */
  readonly facts?: SessionFacts | null;
  /** Of lanes that are claimed one by one. */
  readonly pending?: string | null;
  readonly pending_ms?: number | null;
}

/**
 * Claims the plain lanes as one batch, then, if there are any, resumes, lanes whose session is to be decided and turns already
 * claimed by an earlier try as a second one. When only the second fails, the first stands: its lanes must reach the caller, so the
 * others are told to come again, and the failure is thrown when it is met without claims to lose.
 */
export async function claimLanes(
  database: Database,
  bootId: BootId,
  batch: { readonly items: readonly ClaimRequest[]; readonly wait: boolean },
): Promise<ClaimResult[]> {
  const { items, wait } = batch;
  const rows = await database.query<ClaimRow>(CLAIM, [...argumentsOf(bootId, items), wait]);
  const results = resultsOf(items, rows);
  const special = rows.filter((row) => row.result === 'special').map((row) => row.i - 1);
  if (special.length > 0) {
    const claimed = rows.some((row) => row.result === 'claimed');
    const answers = await claimSpecial(
      database,
      bootId,
      special.map((index) => at(items, index)),
    ).catch((error: unknown) => {
      if (!claimed) throw error;
      return special.map((): ClaimResult => ({ result: 'skipped' }));
    });
    special.forEach((index, i) => {
      results[index] = answers[i];
    });
  }
  return results.map((result) => {
    if (result === undefined) throw new AppError({ code: 'internal', message: 'a claimed lane has no answer' });
    return result;
  });
}

async function claimSpecial(
  database: Database,
  bootId: BootId,
  items: readonly ClaimRequest[],
): Promise<(ClaimResult | undefined)[]> {
  const routes = items.map(({ route }) => json(route ?? null));
  return resultsOf(items, await database.query<ClaimRow>(CLAIM_SPECIAL, [...argumentsOf(bootId, items), routes]));
}

function argumentsOf(bootId: BootId, items: readonly ClaimRequest[]): unknown[] {
  return [
    tenantsOf(items.map((item) => item.lane.tenantId)),
    bootId,
    ...columns<ClaimRequest>(
      items,
      (item) => item.lane.slot,
      (item) => item.lane.tenantId,
      (item) => item.lane.laneId,
      (item) => item.turnId,
      (item) => item.newSessionId,
    ),
  ];
}

function resultsOf(items: readonly ClaimRequest[], rows: readonly ClaimRow[]): (ClaimResult | undefined)[] {
  const results: (ClaimResult | undefined)[] = items.map(() => undefined);
  const events = new Map<number, ClaimedEvent[]>();
  for (const row of rows) {
    if (row.result === 'special') continue;
    if (row.result === 'undecided') {
      if (row.facts) results[row.i - 1] = { result: 'undecided', facts: row.facts };
      continue;
    }
    if (row.result !== 'claimed') {
      results[row.i - 1] = { result: row.result };
      continue;
    }
    const known = events.get(row.i);
    if (known !== undefined) {
      known.push(eventOf(row));
      continue;
    }
    const list = [eventOf(row)];
    events.set(row.i, list);
    results[row.i - 1] = turnOf(at(items, row.i - 1), row, list);
  }
  return results;
}

function turnOf(item: ClaimRequest, row: ClaimRow, events: readonly ClaimedEvent[]): ClaimedTurn {
  return {
    result: 'claimed',
    lane: item.lane,
    fence: { fence: row.fence, turnId: item.turnId },
    agentId: row.agent_id,
    sessionKey: row.key,
    source: row.source,
    sessionId: row.session_id,
    seq: row.seq,
    reason: nameOf<TurnReason>(TURN_REASON, row.reason),
    resumeOf: row.resume_of,
    // Lanes that were marked before marks had a time have no age. They are told: a note too many costs a line, and
    // without one an agent may do again what it has done. The next turn that succeeds takes the mark away.
    interrupted: row.pending ? { reason: row.pending, ageMs: row.pending_ms ?? null } : null,
    startedAt: row.started_at,
    events,
  };
}

function eventOf(row: ClaimRow): ClaimedEvent {
  return {
    eventId: row.event_id,
    ord: row.ord,
    kind: nameOf<EventKind>(EVENT_KIND, row.kind),
    accountId: row.account_id,
    body: row.body,
    attempts: row.attempts,
    acceptedAt: row.accepted_at,
    traceparent: row.traceparent,
  };
}

function nameOf<Name extends string>(numbers: Readonly<Record<Name, number>>, value: number): Name {
  for (const name in numbers) if (numbers[name] === value) return name;
  throw new AppError({ code: 'internal', message: `the database holds an unknown number ${value}` });
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new AppError({ code: 'internal', message: `no item ${index} in the batch` });
  return item;
}

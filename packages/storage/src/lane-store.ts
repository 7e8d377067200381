import {
  type BootId,
  type ClaimRequest,
  type ClaimResult,
  type CommitRequest,
  type CommitResult,
  DELIVERY_STATE,
  EVENT_STATE,
  type Fence,
  type HandBackRequest,
  type LaneId,
  type LaneRef,
  type LaneStore,
  type ReadyLane,
  type RunningTurn,
  type StepAppend,
  type TenantId,
  TURN_STATE,
  type TurnId,
} from '@turnkeeper/core';
import { CLAIM, CLAIM_SPECIAL, claimLanes } from './claim.ts';
import { call, columns, emptyColumns, flags, inOrder, json, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

const APPEND = call('append', 11);
const COMMIT = call('commit', 16);
const HAND_BACK = call('hand_back', 8);
const LOOK = call('look', 4);
const ENDED_TURNS = call('ended_turns', 5);
const SCAN = call('scan', 2);
const RUNNING = call('running', 1);

/** `p_owed` of tk.commit. */
const OWED = { send: 0, sendNow: 1, proven: 2 } as const;

interface Guarded {
  readonly lane: LaneRef;
  readonly fence: Fence;
}

interface LaneRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
}

interface CommitRow {
  readonly i: number;
  readonly result: 'ok' | 'again' | 'stale';
  readonly seq: string;
  readonly more: boolean;
  readonly finished_at: Date;
  readonly dstate: number | null;
}

/**
 * The lane protocol's steps of a worker, in Postgres as tk_engine. A lane's running turn stands in its row: turn_id null →
 * (claim) → T → null again by whatever ends it: commit, hand-back, and from outside cancel and interrupt. A turn may write
 * while its lane holds its fence pair; each step locks the lane's row first, then decides and writes in a second statement,
 * so that nothing it read before the lock can count. Every step is one call of one SQL function: one round trip, one
 * transaction. A call whose answer was lost is repeated with the same ids and is answered from what the first one did.
 */
export class PostgresLaneStore implements LaneStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  claim(bootId: BootId, items: readonly ClaimRequest[], options?: { readonly wait?: boolean }): Promise<ClaimResult[]> {
    return claimLanes(this.#database, bootId, { items, wait: options?.wait ?? false });
  }

  async append(items: readonly StepAppend[]): Promise<('ok' | 'again' | 'stale')[]> {
    const rows = await this.#database.query<{ i: number; result: 'ok' | 'again' | 'stale' }>(APPEND, [
      tenantsOf(items.map((item) => item.lane.tenantId)),
      ...columns<StepAppend>(
        items,
        ...GUARD,
        (item) => item.seq,
        (item) => item.n,
        (item) => item.messageId,
        (item) => item.role,
        (item) => json(item.body),
      ),
    ]);
    return inOrder(items.length, rows, (row) => row.result);
  }

  async commit(bootId: BootId, items: readonly CommitRequest[]): Promise<CommitResult[]> {
    const rows = await this.#database.query<CommitRow>(COMMIT, [
      tenantsOf(items.map((item) => item.lane.tenantId)),
      bootId,
      ...columns<CommitRequest>(
        items,
        ...GUARD,
        (item) => EVENT_STATE[item.status],
        (item) => TURN_STATE[item.status],
        (item) => json(item.error),
        (item) => json(item.usage),
        (item) => item.agentVersion,
        (item) => item.messageId,
        (item) => json(item.reply),
        (item) => owedNumber(item.owed),
        (item) => (item.owed?.kind === 'send' ? item.owed.accountId : null),
      ),
    ]);
    return inOrder(items.length, rows, commitResultOf);
  }

  async handBack(_bootId: BootId, items: readonly HandBackRequest[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(HAND_BACK, [
      tenantsOf(items.map((item) => item.lane.tenantId)),
      ...columns<HandBackRequest>(
        items,
        ...GUARD,
        (item) => item.hadEffect,
        (item) => item.reason,
      ),
    ]);
    return flags(items.length, rows);
  }

  async look(lanes: readonly LaneRef[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(LOOK, [
      tenantsOf(lanes.map((lane) => lane.tenantId)),
      ...columns<LaneRef>(
        lanes,
        (lane) => lane.slot,
        (lane) => lane.tenantId,
        (lane) => lane.laneId,
      ),
    ]);
    return flags(lanes.length, rows);
  }

  async scan(partitions: readonly number[], limit: number): Promise<ReadyLane[]> {
    const rows = await this.#database.query<LaneRow & { max_ord: string | null }>(SCAN, [partitions, limit]);
    return rows.map((row) => ({ ...laneOf(row), maxOrd: row.max_ord }));
  }

  async running(bootId: BootId): Promise<RunningTurn[]> {
    const rows = await this.#database.query<
      LaneRow & { turn_id: TurnId; fence: string; started_at: Date; age_ms: number }
    >(RUNNING, [bootId]);
    return rows.map((row) => ({
      lane: laneOf(row),
      fence: { fence: row.fence, turnId: row.turn_id },
      startedAt: row.started_at,
      ageMs: row.age_ms,
    }));
  }

  async stillRunning(turns: readonly { readonly lane: LaneRef; readonly turnId: TurnId }[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(ENDED_TURNS, [
      tenantsOf(turns.map((turn) => turn.lane.tenantId)),
      ...columns<(typeof turns)[number]>(
        turns,
        (turn) => turn.lane.slot,
        (turn) => turn.lane.tenantId,
        (turn) => turn.lane.laneId,
        (turn) => turn.turnId,
      ),
    ]);
    return flags(turns.length, rows).map((isEnded) => !isEnded);
  }

  /** Opens all connections with everything prepared. @throws StoreError */
  warmUp(): Promise<void> {
    return this.#database.warmUp([
      { statement: CLAIM, values: ['', null, ...emptyColumns(5), false] },
      { statement: CLAIM_SPECIAL, values: ['', null, ...emptyColumns(6)] },
      { statement: APPEND, values: ['', ...emptyColumns(10)] },
      { statement: COMMIT, values: ['', null, ...emptyColumns(14)] },
      { statement: HAND_BACK, values: ['', ...emptyColumns(7)] },
      { statement: LOOK, values: ['', ...emptyColumns(3)] },
      { statement: ENDED_TURNS, values: ['', ...emptyColumns(4)] },
      { statement: SCAN, values: [[], 0] },
    ]);
  }
}

/** slot, tenant, lane, fence, turn: the arguments every guarded function begins with. */
const GUARD: readonly ((item: Guarded) => unknown)[] = [
  (item) => item.lane.slot,
  (item) => item.lane.tenantId,
  (item) => item.lane.laneId,
  (item) => item.fence.fence,
  (item) => item.fence.turnId,
];

function owedNumber(owed: CommitRequest['owed']): number | null {
  if (owed === null) return null;
  if (owed.kind === 'proven') return OWED.proven;
  return owed.sendNow ? OWED.sendNow : OWED.send;
}

function commitResultOf(row: CommitRow): CommitResult {
  if (row.result === 'stale') return { result: 'stale' };
  const { result, seq, more, finished_at: finishedAt } = row;
  return { result, seq, more, finishedAt, delivery: deliveryOf(row.dstate) };
}

function deliveryOf(state: number | null): 'pending' | 'sending' | 'delivered' | null {
  if (state === DELIVERY_STATE.pending) return 'pending';
  if (state === DELIVERY_STATE.sending) return 'sending';
  return state === DELIVERY_STATE.delivered ? 'delivered' : null;
}

function laneOf(row: LaneRow): LaneRef {
  return { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id };
}

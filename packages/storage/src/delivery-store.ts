import {
  type AccountId,
  type BootId,
  type ClaimDue,
  DELIVERY_STATE,
  type DeliverySettlement,
  type DeliveryStore,
  type DueDelivery,
  type EventId,
  type LaneId,
  type LaneRef,
  type MessageId,
  type OwnSend,
  type PausedAccount,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { call, columns, emptyColumns, flags, json, tenantsOf } from './columns.ts';
import type { Database } from './database.ts';

const OWED_HEADS = call('owed_heads', 3);
const CLAIM_DUE = call('claim_due', 6);
const SETTLE = call('settle', 12);
const OWN_SENDS = call('own_sends', 1);
const PAUSE_ACCOUNT = call('pause_account', 3);
const PAUSED_ACCOUNTS = call('paused_accounts', 1);
const NEXT_DUE = {
  name: 'next_due',
  text: 'select min(due_ms) as due_ms from tk.owed_heads($1, 1, $2)',
};

/** More are not known beforehand; what is claimed of theirs is not given out. */
const PAUSED_MAX = 10_000;

interface DueRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly seq: string;
  readonly n: number;
  readonly id: MessageId;
  readonly account_id: AccountId;
  readonly attempt: number;
  readonly recovered: boolean;
  readonly run_id: EventId | null;
  readonly turn_id: TurnId | null;
  readonly key: string;
  readonly agent_id: string;
  readonly role: string;
  readonly body: DueDelivery['body'];
  readonly started_at: Date | null;
  readonly at: Date;
  readonly traceparent: string | null;
}

type OwnSendRow = Pick<DueRow, 'slot' | 'tenant_id' | 'lane_id' | 'seq' | 'n' | 'attempt'> & {
  readonly age_ms: number;
};

/**
 * The outbox, in Postgres as tk_engine. pending → (claimDue) → sending(boot, attempt), durable before the first byte →
 * delivered | failed | unknown | abandoned, or pending again after a proven refusal. A lane's rows leave in order: only the
 * first one that is neither final nor an unknown already sent again may be claimed. The leader turns what a lost process
 * was sending into unknown, never into pending.
 */
export class PostgresDeliveryStore implements DeliveryStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async claimDue(bootId: BootId, due: ClaimDue): Promise<DueDelivery[]> {
    const heads = due.lanes === undefined ? await this.#dueHeads(due) : due.lanes.slice(0, due.limit);
    if (heads.length === 0) return [];
    const rows = await this.#database.query<DueRow>(CLAIM_DUE, [
      tenantsOf(heads.map((lane) => lane.tenantId)),
      bootId,
      ...columns<LaneRef>(
        heads,
        (lane) => lane.slot,
        (lane) => lane.tenantId,
        (lane) => lane.laneId,
      ),
      due.exceptAccounts ?? [],
    ]);
    return rows.map(dueOf);
  }

  async settle(bootId: BootId, items: readonly DeliverySettlement[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(SETTLE, [
      tenantsOf(items.map((item) => item.lane.tenantId)),
      bootId,
      ...columns<DeliverySettlement>(
        items,
        (item) => item.lane.slot,
        (item) => item.lane.tenantId,
        (item) => item.lane.laneId,
        (item) => item.seq,
        (item) => item.n,
        (item) => item.attempt,
        (item) => DELIVERY_STATE[item.outcome.state],
        (item) => (item.outcome.state === 'delivered' ? item.outcome.ref : null),
        (item) => (item.outcome.state === 'pending' ? item.outcome.afterMs : null),
        (item) => ('error' in item.outcome ? json(item.outcome.error) : null),
      ),
    ]);
    return flags(items.length, rows);
  }

  async ownSends(bootId: BootId): Promise<OwnSend[]> {
    const rows = await this.#database.query<OwnSendRow>(OWN_SENDS, [bootId]);
    return rows.map((row) => ({
      lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
      seq: row.seq,
      n: row.n,
      attempt: row.attempt,
      ageMs: row.age_ms,
    }));
  }

  async nextDueMs(partitions: readonly number[], exceptAccounts: readonly AccountId[]): Promise<number | null> {
    const [row] = await this.#database.query<{ due_ms: number | null }>(NEXT_DUE, [partitions, exceptAccounts]);
    return row?.due_ms ?? null;
  }

  async pauseAccount(tenantId: TenantId, accountId: AccountId, waitMs: number): Promise<void> {
    await this.#database.query(PAUSE_ACCOUNT, [tenantId, accountId, waitMs]);
  }

  async pausedAccounts(): Promise<readonly PausedAccount[]> {
    const rows = await this.#database.query<{ account_id: AccountId; left_ms: number }>(PAUSED_ACCOUNTS, [PAUSED_MAX]);
    return rows.map(({ account_id: accountId, left_ms: leftMs }) => ({ accountId, leftMs }));
  }

  /** Opens all connections with everything prepared. @throws StoreError */
  warmUp(): Promise<void> {
    return this.#database.warmUp([
      { statement: OWED_HEADS, values: [[], 0, []] },
      { statement: CLAIM_DUE, values: ['', null, ...emptyColumns(3), []] },
      { statement: SETTLE, values: ['', null, ...emptyColumns(10)] },
    ]);
  }

  async #dueHeads({ partitions, limit, exceptAccounts = [] }: ClaimDue): Promise<LaneRef[]> {
    const rows = await this.#database.query<{ slot: number; tenant_id: TenantId; lane_id: LaneId; due_ms: number }>(
      OWED_HEADS,
      [partitions, limit, exceptAccounts],
    );
    return rows
      .filter((row) => row.due_ms === 0)
      .map((row) => ({ slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id }));
  }
}

function dueOf(row: DueRow): DueDelivery {
  return {
    lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
    seq: row.seq,
    n: row.n,
    messageId: row.id,
    accountId: row.account_id,
    attempt: row.attempt,
    recovered: row.recovered,
    runId: row.run_id,
    turnId: row.turn_id,
    sessionKey: row.key,
    agentId: row.agent_id,
    role: row.role,
    body: row.body,
    startedAt: row.started_at,
    finishedAt: row.at,
    traceparent: row.traceparent,
  };
}

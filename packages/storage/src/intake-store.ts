import {
  type AcceptItem,
  type AcceptResult,
  AppError,
  type AttachmentId,
  type BootId,
  EVENT_KIND,
  EVENT_STATE,
  type EventId,
  type IntakeStore,
  type LaneId,
  type QueuedCount,
  StoreError,
  type TenantId,
} from '@turnkeeper/core';
import { call, columns, emptyColumns, inOrder, json, tenantsOf } from './columns.ts';
import type { Database, Statement } from './database.ts';
import { constraintOf } from './store-error.ts';

const ACCEPT = call('accept', 18);
/** Only for batches in which messages name attachments. */
const ACCEPT_ATTACHED = call('accept_attached', 20);
const QUEUED = {
  name: 'queued_per_tenant',
  text: `select tenant_id, queued::double precision as queued, extract(epoch from measured_at)::double precision * 1000 as measured_ms,
      greatest(0, extract(epoch from clock_timestamp() - measured_at)::double precision * 1000) as age_ms
    from tk.tenant_load`,
};
const CAP_MAX = 2_000_000_000;

interface AcceptRow {
  readonly i: number;
  readonly result: string;
  readonly ahead: number | null;
  readonly ord: string | null;
  readonly event_id: EventId | null;
  readonly slot: number | null;
  readonly lane_id: LaneId | null;
}

interface QueuedRow {
  readonly tenant_id: TenantId;
  readonly queued: number;
  readonly measured_ms: number;
  readonly age_ms: number;
}

/** Commit point 1, in Postgres as tk_engine. */
export class PostgresIntakeStore implements IntakeStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async accept(nodeId: BootId, items: readonly AcceptItem[]): Promise<AcceptResult[]> {
    const values = [tenantsOf(items.map((item) => item.tenantId)), nodeId, ...acceptColumns(items)];
    const uses = usesOf(items);
    const rows =
      uses.length === 0
        ? await this.#call(ACCEPT, values)
        : await this.#call(ACCEPT_ATTACHED, [...values, uses.map(({ item }) => item), uses.map(({ id }) => id)]);
    return inOrder(items.length, rows, (row) => resultOf(row, items[row.i - 1]?.tenantId));
  }

  async queuedPerTenant(): Promise<ReadonlyMap<TenantId, QueuedCount>> {
    const rows = await this.#database.query<QueuedRow>(QUEUED, []);
    return new Map(
      rows.map((row) => [row.tenant_id, { queued: row.queued, measuredAtMs: row.measured_ms, ageMs: row.age_ms }]),
    );
  }

  /** Opens all connections with everything prepared. @throws StoreError */
  warmUp(): Promise<void> {
    return this.#database.warmUp([{ statement: ACCEPT, values: ['', null, ...emptyColumns(16)] }]);
  }

  async #call(statement: Statement, values: readonly unknown[]): Promise<AcceptRow[]> {
    try {
      return await this.#database.query<AcceptRow>(statement, values);
    } catch (error) {
      // retention took the lane between its reading and the event: nobody's fault, and gone at the next try
      if (error instanceof StoreError && constraintOf(error) === 'events_lane') {
        throw new StoreError({
          failure: 'busy',
          state: error.state,
          message: 'The lane was deleted meanwhile.',
          cause: error,
        });
      }
      throw error;
    }
  }
}

function acceptColumns(items: readonly AcceptItem[]): unknown[][] {
  return columns<AcceptItem>(
    items,
    (item) => item.slot,
    (item) => item.tenantId,
    (item) => item.agentId,
    (item) => item.laneId,
    (item) => item.sessionKey,
    (item) => Math.min(item.laneCap, CAP_MAX),
    (item) => item.dedupe.scope,
    (item) => item.dedupe.key,
    (item) => Buffer.from(item.dedupe.bodyHash),
    (item) => item.eventId,
    (item) => EVENT_KIND[item.kind],
    (item) => item.accountId,
    (item) => json(item.body),
    (item) => item.traceparent,
    (item) => (item.refused === undefined ? EVENT_STATE.queued : EVENT_STATE.refused),
    (item) => json(item.refused ?? null),
  );
}

/** Positions of items from 1, with the files that each names. */
function usesOf(items: readonly AcceptItem[]): { readonly item: number; readonly id: AttachmentId }[] {
  return items.flatMap(({ uses = [] }, index) => uses.map((id) => ({ item: index + 1, id })));
}

function resultOf(row: AcceptRow, tenantId: TenantId | undefined): AcceptResult {
  if (row.result === 'lane_full') return { result: 'lane_full' };
  if (row.result === 'accepted' && row.ord !== null)
    return { result: 'accepted', position: row.ahead ?? 0, ord: row.ord };
  const { event_id: eventId, slot, lane_id: laneId } = row;
  if (eventId !== null && row.result === 'mismatch') return { result: 'mismatch', eventId };
  if (eventId !== null && slot !== null && laneId !== null && tenantId !== undefined) {
    return { result: 'duplicate', eventId, lane: { slot, tenantId, laneId }, position: row.ahead ?? 0 };
  }
  throw new AppError({ code: 'internal', message: `accept answered ${row.result} without its row` });
}

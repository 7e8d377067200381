import {
  type DeliveryFilter,
  type DeliveryReads,
  type DeliveryRecord,
  decodeCursor,
  type EventId,
  encodeCursor,
  type LaneId,
  type MessageId,
  type Page,
  type TenantId,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import {
  type DeliveryPlace,
  type DeliveryWalk,
  deliveryOf,
  type RunRange,
  selectDeliveries,
  selectDelivery,
  selectLastWalked,
  selectRunRange,
} from './delivery-query.ts';
import { asTenant, type QueryBuilder, queryBuilder, type Run } from './queries.ts';

const LIST = 'deliveries';
const LANE_LIST = 'lane-deliveries';

/** Deliveries as people see them, on the role `tk_api`. */
export class DeliveryReadStore implements DeliveryReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async get(tenantId: TenantId, messageId: MessageId): Promise<DeliveryRecord | null> {
    const query = selectDelivery(this.#build, tenantId, messageId);
    const [row] = await asTenant(this.#database, tenantId, (run) => run(query));
    return row ? deliveryOf(row, row.body.text ?? '') : null;
  }

  list(tenantId: TenantId, filter: DeliveryFilter): Promise<Page<DeliveryRecord>> {
    return asTenant(this.#database, tenantId, async (run) => {
      const of = filter.runId === undefined ? undefined : await this.#rangeOf(tenantId, filter.runId, run);
      const isOfLane = (of?.lane ?? filter.lane) !== undefined;
      const place = filter.cursor === undefined ? undefined : placeOf(filter.cursor, isOfLane);
      if (of === null || isElsewhere(of, filter)) return { rows: [], nextCursor: null };
      const walk = { filter, run: of, place };
      const rows = await run(selectDeliveries(this.#build, tenantId, walk));
      const taken = rows.slice(0, filter.limit);
      const last = taken.at(-1);
      // a page of few finds, or none: there may be more behind what it looked at
      const end = rows.length > filter.limit ? last : await this.#lastWalked(tenantId, { walk, last, isOfLane, run });
      return {
        rows: taken.map((row) => deliveryOf(row)),
        nextCursor: end === undefined ? null : cursorOf(end, isOfLane),
      };
    });
  }

  async #lastWalked(
    tenantId: TenantId,
    { walk, last, isOfLane, run }: { walk: DeliveryWalk; last: Placed | undefined; isOfLane: boolean; run: Run },
  ): Promise<Placed | undefined> {
    const [end] = await run(selectLastWalked(this.#build, tenantId, walk));
    if (end === undefined || last === undefined) return end;
    // what came meanwhile moves the end up, never past what was answered
    const isAbove = isOfLane ? BigInt(end.seq) > BigInt(last.seq) : end.id > last.id;
    return isAbove ? last : end;
  }

  /** Null: no such run. */
  async #rangeOf(tenantId: TenantId, runId: EventId, run: Run): Promise<RunRange | null> {
    const [row] = await run(selectRunRange(this.#build, tenantId, runId));
    if (row === undefined) return null;
    const lane = { slot: row.slot, tenantId, laneId: row.lane_id as LaneId };
    return { lane, runId, turnId: row.turn_id, seq: row.seq, endSeq: row.end_seq };
  }
}

/** The filters name a run of one conversation, and another conversation. */
function isElsewhere(run: RunRange | undefined, { lane }: DeliveryFilter): boolean {
  return run !== undefined && lane !== undefined && run.lane.laneId !== lane.laneId;
}

interface Placed {
  readonly id: string;
  readonly seq: string;
  readonly n: number;
}

function cursorOf({ id, seq, n }: Placed, isOfLane: boolean): string {
  return isOfLane ? encodeCursor(LANE_LIST, [seq, String(n)]) : encodeCursor(LIST, [id]);
}

function placeOf(cursor: string, isOfLane: boolean): DeliveryPlace {
  if (!isOfLane) return { by: 'id', id: decodeCursor(LIST, cursor, ['uuid'])[0] ?? '' };
  const [seq = '0', n = '0'] = decodeCursor(LANE_LIST, cursor, ['integer', 'integer']);
  return { by: 'seq', seq, n };
}

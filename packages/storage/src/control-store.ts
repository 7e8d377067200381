import {
  AppError,
  type CancelResult,
  type ControlStore,
  type EventId,
  type LaneId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const CANCEL = call('cancel', 2);

interface CancelRow {
  readonly result: 'cancelled' | 'final' | 'missing';
  readonly turn_id: TurnId | null;
  readonly slot: number | null;
  readonly lane_id: LaneId | null;
}

/** Control of lanes, in Postgres as tk_engine. Under the lane's lock: a commit that came first stands. */
export class PostgresControlStore implements ControlStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async cancelRun(tenantId: TenantId, eventId: EventId): Promise<CancelResult> {
    const [row] = await this.#database.query<CancelRow>(CANCEL, [tenantId, eventId]);
    if (row?.result === 'cancelled' && row.slot !== null && row.lane_id !== null) {
      return { result: 'cancelled', turnId: row.turn_id, lane: { slot: row.slot, tenantId, laneId: row.lane_id } };
    }
    if (row?.result === 'final' || row?.result === 'missing') return { result: row.result };
    throw new AppError({ code: 'internal', message: 'cancel has no answer' });
  }
}

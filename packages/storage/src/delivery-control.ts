import {
  AppError,
  DELIVERY_STATE,
  type DecidedDelivery,
  type DeliveryControl,
  type EventId,
  type LaneId,
  type MessageId,
  type SessionId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';
import { nameOf } from './read/state-names.ts';

const DECIDE_DELIVERY = call('decide_delivery', 5);

interface DecidedRow {
  readonly result: DecidedDelivery['result'];
  readonly slot: number;
  readonly lane_id: LaneId;
  readonly session_id: SessionId;
  readonly key: string;
  readonly turn_id: TurnId | null;
  readonly run_id: EventId | null;
  readonly dstate: number;
  readonly dattempt: number;
  readonly dref: string | null;
}

/** What people decide of deliveries, in Postgres as tk_engine. */
export class PostgresDeliveryControl implements DeliveryControl {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async decide(
    tenantId: TenantId,
    messageId: MessageId,
    { verb, actor, auditId }: Parameters<DeliveryControl['decide']>[2],
  ): Promise<DecidedDelivery> {
    const [row] = await this.#database.query<DecidedRow>(DECIDE_DELIVERY, [tenantId, messageId, verb, auditId, actor]);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'decide_delivery has no answer' });
    if (row.result !== 'done' && row.result !== 'same') return { result: row.result };
    const status = nameOf(DELIVERY_STATE, row.dstate);
    if (status === null) throw new AppError({ code: 'internal', message: `unknown delivery state ${row.dstate}` });
    return {
      result: row.result,
      lane: { slot: row.slot, tenantId, laneId: row.lane_id },
      sessionKey: row.key,
      sessionId: row.session_id,
      turnId: row.turn_id,
      runId: row.run_id,
      status,
      attempts: row.dattempt,
      ref: row.dref,
    };
  }
}

import {
  type AnswerResult,
  AppError,
  type AskRequest,
  type InputId,
  type InputStore,
  type LaneId,
  type LaneRef,
  type ResolvedInput,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { call, json } from './columns.ts';
import type { Database } from './database.ts';

const ASK = call('ask', 10);
const INPUT_OF = call('input_of', 4);
const ANSWER = call('answer_input', 3);
const EXPIRE = call('expire_inputs', 1);

interface LaneRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
}

/**
 * Turns that wait for a person. As tk_engine: ask, answer and what became of it; as tk_sweep: expiry. A question is
 * resolved once, by compare-and-set under its lane's lock, and its turn is then owed its going on like a resume.
 */
export class PostgresInputStore implements InputStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async ask({ lane, fence, inputId, messageId, question }: AskRequest): Promise<'ok' | 'again' | 'stale'> {
    const { kind, text, options, waitMs } = question;
    const [row] = await this.#database.query<{ result: 'ok' | 'again' | 'stale' }>(ASK, [
      ...[lane.tenantId, lane.slot, lane.laneId, fence.fence, fence.turnId, inputId, messageId, kind],
      ...[json({ text, ...(options && { options }) }), waitMs],
    ]);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'ask has no answer' });
    return row.result;
  }

  async resolvedFor(lane: LaneRef, turnId: TurnId): Promise<ResolvedInput | null> {
    const values = [lane.tenantId, lane.slot, lane.laneId, turnId];
    const [row] = await this.#database.query<{ state: string; answer: { text: string } | null }>(INPUT_OF, values);
    if (row?.state !== 'answered' && row?.state !== 'expired') return null;
    return { outcome: row.state, answer: row.answer };
  }

  async answer(tenantId: TenantId, inputId: InputId, answer: { readonly text: string }): Promise<AnswerResult> {
    const [row] = await this.#database.query<{
      result: AnswerResult['result'];
      slot: number | null;
      lane_id: LaneId | null;
    }>(ANSWER, [tenantId, inputId, json(answer)]);
    if (row?.result === 'answered' && row.slot !== null && row.lane_id !== null) {
      return { result: 'answered', lane: { slot: row.slot, tenantId, laneId: row.lane_id } };
    }
    return { result: row?.result === 'closed' ? 'closed' : 'missing' };
  }

  async expire(limit: number): Promise<LaneRef[]> {
    const rows = await this.#database.query<LaneRow>(EXPIRE, [limit]);
    return rows.map((row) => ({ slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id }));
  }
}

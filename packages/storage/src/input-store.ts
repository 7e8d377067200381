import {
  type AnswerResult,
  AppError,
  type AskRequest,
  type AskResult,
  type InputId,
  type InputReads,
  type InputStore,
  type LaneId,
  type LaneRef,
  type ResolvedInput,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { call, json } from './columns.ts';
import type { Database } from './database.ts';

const ASK = call('ask_person', 13);
const INPUT_OF = call('question_of', 4);
const ANSWER = call('answer_question', 3);
const EXPIRE = call('expire_inputs', 1);
const LANE_OF = call('input_lane', 2);

interface LaneRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
}

interface AskRow {
  readonly result: 'ok' | 'again' | 'stale';
  readonly seq: string | null;
  readonly expires_at: Date | null;
}

interface QuestionRow {
  readonly state: string;
  readonly answer: { readonly text: string } | null;
  readonly since_seq: string;
  readonly asked: string;
}

interface AnswerRow {
  readonly result: AnswerResult['result'];
  readonly slot: number | null;
  readonly lane_id: LaneId | null;
  readonly seq: string | null;
  readonly key: string | null;
}

/**
 * Turns that wait for a person. As tk_engine: ask, answer and what became of it; as tk_sweep: expiry. A question is
 * resolved once, by compare-and-set under its lane's lock, and its turn is then owed its going on like a resume.
 */
export class PostgresInputStore implements InputStore, InputReads {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async ask({ lane, fence, inputId, messageId, stepId, question }: AskRequest): Promise<AskResult> {
    const { kind, text, options, waitMs, call } = question;
    const [row] = await this.#database.query<AskRow>(ASK, [
      ...[lane.tenantId, lane.slot, lane.laneId, fence.fence, fence.turnId, inputId, messageId, kind],
      ...[json({ text, ...(options && { options }) }), waitMs, stepId],
      ...[json(call === undefined ? null : { id: call.callId, name: call.name }), json(call?.body ?? null)],
    ]);
    if (row?.result === 'stale') return { result: 'stale' };
    if (row === undefined || row.seq === null || row.expires_at === null)
      throw new AppError({ code: 'internal', message: 'ask has no answer' });
    return { result: row.result, seq: row.seq, expiresAt: row.expires_at };
  }

  async resolvedFor(lane: LaneRef, turnId: TurnId): Promise<ResolvedInput | null> {
    const values = [lane.tenantId, lane.slot, lane.laneId, turnId];
    const [row] = await this.#database.query<QuestionRow>(INPUT_OF, values);
    if (row?.state !== 'answered' && row?.state !== 'expired') return null;
    return { outcome: row.state, answer: row.answer, sinceSeq: row.since_seq, asked: Number(row.asked) };
  }

  async answer(tenantId: TenantId, inputId: InputId, answer: { readonly text: string }): Promise<AnswerResult> {
    const [row] = await this.#database.query<AnswerRow>(ANSWER, [tenantId, inputId, json(answer)]);
    if (row?.result === 'answered' && row.slot !== null && row.lane_id !== null && row.seq !== null) {
      const lane = { slot: row.slot, tenantId, laneId: row.lane_id };
      return { result: 'answered', lane, sessionKey: row.key ?? '', seq: row.seq };
    }
    return { result: row?.result === 'closed' ? 'closed' : 'missing' };
  }

  async laneOf(tenantId: TenantId, inputId: InputId): Promise<LaneRef | null> {
    const [row] = await this.#database.query<{ slot: number; lane_id: LaneId }>(LANE_OF, [tenantId, inputId]);
    return row === undefined ? null : { slot: row.slot, tenantId, laneId: row.lane_id };
  }

  async expire(limit: number): Promise<LaneRef[]> {
    const rows = await this.#database.query<LaneRow>(EXPIRE, [limit]);
    return rows.map((row) => ({ slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id }));
  }
}

import {
  type AccountId,
  AppError,
  type BootId,
  type CancelResult,
  type ControlRequest,
  type ControlResult,
  type ControlStore,
  DELIVERY_STATE,
  type EventId,
  type LaneId,
  type LaneRef,
  type LaneSession,
  type MessageId,
  type OutboundRequest,
  type OutboundResult,
  type SessionId,
  type TenantId,
  type TurnId,
  type TypedCommand,
  type TypedCommandResult,
} from '@turnkeeper/core';
import { call, json } from './columns.ts';
import type { Database } from './database.ts';

const CANCEL = call('cancel', 2);
const CONTROL = call('control_by', 11);
const TYPED = call('command_to', 23);
const LANE_SESSIONS = call('lane_sessions', 5);
const OUTBOUND = call('outbound', 13);
const OUTBOUND_ATTACHED = call('outbound_attached', 14);
const ERASE_STEP = call('erase_step', 4);
const LANE_ACCOUNT = call('lane_account', 3);

/** Rows of each kind whose words one statement takes away. */
const ERASE_ROWS = 1_000;

interface ControlRow {
  readonly result: Exclude<ControlResult['result'], 'gone'>;
  readonly seq: string;
  readonly turn_id: TurnId | null;
  readonly session_id: SessionId | null;
  readonly ended: readonly EventId[];
  readonly at: Date;
}

interface TypedRow {
  readonly result: TypedCommandResult['result'];
  readonly ahead: number | null;
  readonly ord: string | null;
  readonly event_id: EventId | null;
  readonly slot: number | null;
  readonly lane_id: LaneId | null;
  readonly seq: string | null;
  readonly turn_id: TurnId | null;
  readonly session_id: SessionId | null;
  readonly ended: readonly EventId[] | null;
}

interface LaneSessionRow {
  readonly id: SessionId;
  readonly at: Date;
  readonly is_current: boolean;
  readonly is_over: boolean;
  readonly words: string | null;
}

interface OutboundRow {
  readonly result: 'sent' | 'duplicate' | 'mismatch' | 'missing' | 'past' | 'full';
  readonly message_id: MessageId;
  readonly seq: string | null;
  readonly session_id: SessionId | null;
  readonly at: Date | null;
  readonly dstate: number | null;
}

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

  async control(request: ControlRequest): Promise<ControlResult> {
    const { lane, sessionId, command, newSessionId, dedupe, onlyOf = null } = request;
    const [word, label] = typeof command === 'string' ? [command, null] : ['label', command.label];
    const values = [lane.tenantId, lane.slot, lane.laneId, sessionId, word, newSessionId, label];
    const [row] = await this.#database.query<ControlRow>(CONTROL, [...values, ...dedupeOf(dedupe), onlyOf]);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'control has no answer' });
    if (row.result !== 'done') return { result: row.result };
    if (word === 'erase') await this.#eraseWords(lane);
    const { seq, turn_id: turnId, session_id: current, ended, at } = row;
    return { result: 'done', seq, turnId, sessionId: current, ended, at };
  }

  /** To the end; what is left when this process dies, the leader takes. @throws StoreError */
  async #eraseWords(lane: LaneRef): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const values = [lane.tenantId, lane.slot, lane.laneId, ERASE_ROWS];
      const [row] = await this.#database.query<{ erase_step: boolean }>(ERASE_STEP, values);
      isDone = row?.erase_step ?? true;
    }
  }

  async typed(nodeId: BootId, request: TypedCommand): Promise<TypedCommandResult> {
    const { item, command, goesOn, newSessionId, noticeId, notices, onlyOf = null } = request;
    const to = typeof command === 'string' ? null : command;
    const { slot, tenantId, agentId, laneId, sessionKey, dedupe } = item;
    const [row] = await this.#database.query<TypedRow>(TYPED, [
      ...[nodeId, slot, tenantId, agentId, laneId, sessionKey, ...dedupeOf(dedupe)],
      ...[item.eventId, item.accountId, json(item.body), item.traceparent, to === null ? command : 'switch'],
      ...[goesOn, newSessionId, noticeId, json(notices.done), json(notices.idle), onlyOf],
      ...(to === null ? [null, null, null] : [to.from, to.to, to.endReason]),
    ]);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'command has no answer' });
    return typedResult(row, tenantId);
  }

  async sessionsOf(lane: LaneRef, wanted: SessionId | null, limit: number): Promise<LaneSession[]> {
    const values = [lane.tenantId, lane.slot, lane.laneId, wanted, limit];
    const rows = await this.#database.query<LaneSessionRow>(LANE_SESSIONS, values);
    return rows.map(({ id, at, is_current: isCurrent, is_over: isOver, words }) => {
      return { sessionId: id, at, isCurrent, isOver, words };
    });
  }

  async sendOutbound(request: OutboundRequest): Promise<OutboundResult> {
    const { lane, sessionId, newSessionId, messageId, author, body, accountId, dedupe, uses = [] } = request;
    const role = author === 'system' ? 'notice' : 'assistant';
    const statement = uses.length === 0 ? OUTBOUND : OUTBOUND_ATTACHED;
    const [row] = await this.#database.query<OutboundRow>(statement, [
      ...[lane.tenantId, lane.slot, lane.laneId, sessionId, newSessionId, messageId, role],
      ...[
        json(author === 'human' ? { ...body, author } : body),
        accountId,
        ...dedupeOf(dedupe),
        request.undeliveredMax,
      ],
      ...(uses.length === 0 ? [] : [uses]),
    ]);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'outbound has no answer' });
    if (row.result !== 'sent' && row.result !== 'duplicate') return { result: row.result };
    if (row.seq === null || row.session_id === null || row.at === null) return { result: 'gone' };
    const { result, message_id: sentId, seq, session_id: session, at } = row;
    return { result, messageId: sentId, seq, sessionId: session, at, isOwed: row.dstate === DELIVERY_STATE.pending };
  }

  async accountOf(lane: LaneRef): Promise<AccountId | null> {
    const values = [lane.tenantId, lane.slot, lane.laneId];
    const [row] = await this.#database.query<{ account_id: AccountId | null }>(LANE_ACCOUNT, values);
    return row?.account_id ?? null;
  }
}

/** scope, key, hash */
function dedupeOf(dedupe: ControlRequest['dedupe']): unknown[] {
  if (dedupe === null) return [null, null, null];
  return [dedupe.scope, dedupe.key, Buffer.from(dedupe.bodyHash)];
}

function typedResult(row: TypedRow, tenantId: TenantId): TypedCommandResult {
  const { result, event_id: eventId, slot, lane_id: laneId, seq, ended } = row;
  const position = row.ahead ?? 0;
  if (result === 'moved') return { result };
  if (result === 'accepted' && row.ord !== null) {
    const { ord, turn_id: turnId, session_id: sessionId } = row;
    return { result, position, ord, done: seq === null ? null : { seq, turnId, sessionId, ended: ended ?? [] } };
  }
  if (result === 'mismatch' && eventId !== null) return { result, eventId };
  if (result === 'duplicate' && eventId !== null && slot !== null && laneId !== null)
    return { result, eventId, lane: { slot, tenantId, laneId }, position };
  throw new AppError({ code: 'internal', message: `command answered ${result} without its row` });
}

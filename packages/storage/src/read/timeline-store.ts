import {
  type BootId,
  DELIVERY_STATE,
  type EventId,
  type InputId,
  type MessageId,
  type TenantId,
  type Timeline,
  type TimelineEntry,
  type TimelineReads,
  TURN_REASON,
  TURN_STATE,
  type TurnId,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { asTenant, type QueryBuilder, queryBuilder, type RowOf } from './queries.ts';
import { runOf, selectRuns } from './run-query.ts';
import { nameOf } from './state-names.ts';

/** Turns of one event that are told; an event is parked or refused long before. */
const TURNS_MAX = 100;

/** The life of one event from the rows that its steps left, on the role `tk_api`. */
export class TimelineStore implements TimelineReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  of(tenantId: TenantId, eventId: EventId): Promise<Timeline | null> {
    return asTenant(this.#database, tenantId, async (run) => {
      const [event] = await run(selectEvent(this.#build, tenantId, eventId));
      if (!event) return null;
      const turns = (await run(selectTurns(this.#build, event))).reverse();
      const sends = turns.length === 0 ? [] : await run(selectSends(this.#build, event, turns));
      const questions = turns.length === 0 ? [] : await run(selectQuestions(this.#build, event, turns));
      const entries = [
        accepted(event),
        ...turns.flatMap(turnEntries),
        ...questions.flatMap(questionEntries),
        ...running(event),
        ...settled(event),
        ...sends.map(delivery),
      ];
      const boots = [...new Set(entries.flatMap(({ node }) => node ?? []))];
      const rows = boots.length === 0 ? [] : await run(selectNames(this.#build, boots));
      const names = new Map(rows.map((row) => [row.boot_id, row.name]));
      const named = entries.map((entry) => ({ ...entry, nodeName: names.get(entry.node ?? '') ?? null }));
      return { run: runOf(event), entries: named.sort((a, b) => a.at.getTime() - b.at.getTime()) };
    });
  }
}

function selectEvent(build: QueryBuilder, tenantId: TenantId, eventId: EventId) {
  return selectRuns(build)
    .select(['e.accepted_by', 'e.end_seq', 'l.boot_id as lane_boot_id', 'l.turn_reason', 'l.seq as lane_seq'])
    .where('e.tenant_id', '=', tenantId)
    .where('e.id', '=', eventId);
}

type EventRow = RowOf<typeof selectEvent>;

/** Backwards from the event's end, so that the search stops at its first turn and not at the lane's. */
function selectTurns(build: QueryBuilder, event: EventRow) {
  return build
    .selectFrom('tk.turns as t')
    .select(['t.id', 't.boot_id', 't.state', 't.reason', 't.error', 't.started_at', 't.ended_at', 't.seq', 't.end_seq'])
    .where('t.slot', '=', event.slot)
    .where('t.tenant_id', '=', event.tenant_id)
    .where('t.lane_id', '=', event.lane_id)
    .where('t.seq', '<=', event.end_seq ?? event.lane_seq)
    .where(sql<SqlBool>`${event.id}::uuid = any (t.event_ids)`)
    .orderBy('t.seq', 'desc')
    .limit(Math.min(event.attempts, TURNS_MAX));
}

type TurnRow = RowOf<typeof selectTurns>;

function selectSends(build: QueryBuilder, event: EventRow, turns: readonly TurnRow[]) {
  return build
    .selectFrom('tk.messages as m')
    .select(['m.id', 'm.turn_id', 'm.at', 'm.dstate', 'm.dboot', 'm.dattempt', 'm.derror', 'm.dat'])
    .where('m.slot', '=', event.slot)
    .where('m.tenant_id', '=', event.tenant_id)
    .where('m.lane_id', '=', event.lane_id)
    .where('m.seq', '>=', turns[0]?.seq ?? '0')
    .where('m.seq', '<=', turns.at(-1)?.end_seq ?? '0')
    .where(
      'm.turn_id',
      'in',
      turns.map((turn) => turn.id),
    )
    .where('m.dstate', 'is not', null);
}

function selectQuestions(build: QueryBuilder, event: EventRow, turns: readonly TurnRow[]) {
  return build
    .selectFrom('tk.inputs as i')
    .select(['i.id', 'i.turn_id', 'i.kind', 'i.prompt', 'i.state', 'i.created_at', 'i.resolved_at'])
    .where('i.slot', '=', event.slot)
    .where('i.tenant_id', '=', event.tenant_id)
    .where('i.lane_id', '=', event.lane_id)
    .where(
      'i.turn_id',
      'in',
      turns.map((turn) => turn.id),
    );
}

type QuestionRow = RowOf<typeof selectQuestions>;

function selectNames(build: QueryBuilder, boots: readonly BootId[]) {
  return build.selectFrom('tk.workers as w').select(['w.boot_id', 'w.name']).where('w.boot_id', 'in', boots);
}

type SendRow = RowOf<typeof selectSends>;

type Nameless = Omit<TimelineEntry, 'nodeName'>;

const NOTHING = {
  node: null,
  turnId: null,
  attempt: null,
  status: null,
  reason: null,
  deliveryId: null,
  errorCode: null,
  inputId: null,
  question: null,
} as const;

function accepted(event: EventRow): Nameless {
  return { ...NOTHING, step: 'accepted', at: event.accepted_at, node: event.accepted_by as BootId | null };
}

function turnEntries(turn: TurnRow, i: number): Nameless[] {
  const of = { ...NOTHING, node: turn.boot_id as BootId, turnId: turn.id as TurnId, attempt: i + 1 };
  return [
    { ...of, step: 'claimed', at: turn.started_at, reason: nameOf(TURN_REASON, turn.reason) },
    {
      ...of,
      step: 'turn_ended',
      at: turn.ended_at,
      status: nameOf(TURN_STATE, turn.state),
      errorCode: turn.error?.code ?? null,
    },
  ];
}

function running(event: EventRow): Nameless[] {
  if (!event.is_running || event.turn_started_at === null) return [];
  return [
    {
      ...NOTHING,
      step: 'claimed',
      at: event.turn_started_at,
      node: event.lane_boot_id as BootId | null,
      turnId: event.lane_turn_id as TurnId | null,
      attempt: event.attempts + 1,
      reason: nameOf(TURN_REASON, event.turn_reason ?? TURN_REASON.message),
    },
  ];
}

function settled(event: EventRow): Nameless[] {
  if (event.settled_at === null) return [];
  const { status, errorCode } = runOf(event);
  return [{ ...NOTHING, step: 'settled', at: event.settled_at, status, errorCode }];
}

function questionEntries({ id, turn_id, prompt, state, created_at, resolved_at }: QuestionRow): Nameless[] {
  const of = { ...NOTHING, turnId: turn_id as TurnId, inputId: id as InputId };
  const asked: Nameless = { ...of, step: 'asked', at: created_at, question: prompt.text ?? null };
  return resolved_at === null ? [asked] : [asked, { ...of, step: 'input_resolved', at: resolved_at, status: state }];
}

function delivery(row: SendRow): Nameless {
  return {
    ...NOTHING,
    step: 'delivery',
    at: row.dat ?? row.at,
    node: row.dboot as BootId | null,
    turnId: row.turn_id as TurnId | null,
    attempt: row.dattempt,
    status: row.dstate === null ? null : nameOf(DELIVERY_STATE, row.dstate),
    deliveryId: row.id as MessageId,
    errorCode: row.derror?.code ?? null,
  };
}

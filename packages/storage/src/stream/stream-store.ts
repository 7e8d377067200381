import {
  type DurableEvent,
  type EventId,
  inStreamOrder,
  type LaneHead,
  type LaneId,
  type LanePage,
  type LaneRef,
  type Micros,
  type PendingEvent,
  type RunInStream,
  type StreamReads,
  type TenantId,
  type TenantPage,
  type TurnId,
} from '@turnkeeper/core';
import { call, columns, inOrder, tenantsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import {
  type EventRow,
  eventsOfInbound,
  eventsOfMark,
  eventsOfMessage,
  eventsOfRunningTurn,
  eventsOfTurn,
  type HeadRow,
  type MarkRow,
  type MessageRow,
  type TurnRow,
} from './durable-rows.ts';

const HEADS = call('lane_heads', 4);
const TURNS = call('changed_turns', 6);
const EVENTS_AT = call('events_at', 7);
const ENDED_ASIDE = call('ended_aside', 8);
const MESSAGES = call('changed_words', 8);
const MARKS = call('changed_marks', 7);
const PENDING = call('pending_events', 5);
const TENANT_CHANGES = call('tenant_changes', 3);
const SEQS_AT = call('lane_seqs_at', 5);
const RUN_IN_STREAM = call('run_in_stream', 2);

/** Rows of each kind per lane and page: fewer where many lanes are read at once. */
const ROWS_MAX = 100;
const ROWS_MIN = 10;
const ROWS_PER_READ = 1_000;
/**
 * Bytes of bodies likewise: a lane's share of what a read may bring, of each kind of row. What all lanes bring together is
 * `BYTES_PER_READ` and one transaction of each kind at most: the first transaction of a lane comes whole even where it is larger
 * than its share, so that a page gets further, while there is room for it in the read; else the lane is read again.
 */
const BYTES_MAX = 1024 * 1024;
const BYTES_PER_READ = 8 * 1024 * 1024;
const KINDS_WITH_BODIES = 3;
const PENDING_MAX = 200;
const CHANGES_MAX = 1_000;

/** A lane of which the changes in (after, upTo] are wanted, with what was read of it so far. */
interface Wanted {
  readonly lane: LaneRef;
  readonly after: number;
  readonly upTo: number;
  readonly head: HeadRow;
  readonly turns: readonly TurnRow[];
  readonly rowsMax: number;
  readonly bytesMax: number;
}

/** What the rows of one lane tell of, and up to where nothing is missing. */
interface Found {
  readonly upTo: number;
  readonly events: readonly DurableEvent[];
  /** There was no room for all of them. */
  readonly isCut: boolean;
}

/**
 * Durable events from the rows, in Postgres as tk_engine, many lanes at once. The heads are read first: what a later
 * statement finds beyond them is left for the next page, so that a page is whole though each statement has its own
 * snapshot. A further kind of row is a function in SQL, one here that says what it tells of, and a line in `eventsOf`.
 */
export class StreamStore implements StreamReads {
  readonly #database: Database;
  readonly #changesMax: number;
  readonly #bytesMax: number;

  /** `changesMax`: of each kind, per page of a tenant's changes. `bytesMax`: of each kind, per page of one lane. */
  constructor(database: Database, { changesMax = CHANGES_MAX, bytesMax = BYTES_MAX } = {}) {
    this.#database = database;
    this.#changesMax = changesMax;
    this.#bytesMax = bytesMax;
  }

  async heads(lanes: readonly LaneRef[]): Promise<(LaneHead | null)[]> {
    const rows = await this.#headRows(lanes);
    return lanes.map((lane, i) => {
      const row = rows[i] ?? null;
      return row && { lane, sessionKey: row.key, seq: Number(row.seq), isRunning: row.turn_id !== null };
    });
  }

  async changes(
    items: readonly { readonly lane: LaneRef; readonly after: number }[],
  ): Promise<(LanePage | 'later' | null)[]> {
    const rowsMax = Math.max(ROWS_MIN, Math.min(ROWS_MAX, Math.floor(ROWS_PER_READ / items.length)));
    const bytesMax = Math.min(this.#bytesMax, Math.ceil(BYTES_PER_READ / KINDS_WITH_BODIES / items.length));
    const heads = await this.#headRows(items.map(({ lane }) => lane));
    const turns = byItem(await this.#rows<TurnRow>(TURNS, items, [items.map(({ after }) => after), rowsMax]));
    const wanted = items.map(({ lane, after }, i): Wanted | null => {
      const head = heads[i];
      if (!head) return null;
      const mine = turns(i);
      const last = mine.length === rowsMax ? mine.at(-1) : undefined;
      const upTo = last === undefined ? Number(head.seq) : Math.max(after, Number(last.end_seq));
      return { lane, after, upTo, head, turns: mine, rowsMax, bytesMax };
    });
    const found = await this.#events(wanted.flatMap((item) => item ?? []));
    return wanted.map((item) => item && pageOf(item, found.get(item)));
  }

  async pending(lane: LaneRef): Promise<PendingEvent[]> {
    const { tenantId, slot, laneId } = lane;
    const values = [tenantId, slot, tenantId, laneId, PENDING_MAX];
    const rows = await this.#database.query<{ id: EventId; client_id: string | null; before: string }>(PENDING, values);
    return rows.map(({ id, client_id, before }) => ({ eventId: id, clientId: client_id, position: Number(before) }));
  }

  async tenantChanges(tenantId: TenantId, since: Micros | null): Promise<TenantPage> {
    const rows = await this.#database.query<{
      readonly slot: number | null;
      readonly lane_id: LaneId | null;
      readonly seq: string;
      readonly upto: string | null;
      readonly now: string;
    }>(TENANT_CHANGES, [tenantId, since, this.#changesMax]);
    const lanes = rows.flatMap(({ slot, lane_id: laneId, seq }) =>
      slot === null || laneId === null ? [] : [{ lane: { slot, tenantId, laneId }, seq: Number(seq) }],
    );
    const upTo = rows.at(-1)?.upto ?? null;
    return { lanes, upTo: upTo === null ? null : Number(upTo), now: Number(rows[0]?.now) };
  }

  async seqsAt(lanes: readonly LaneRef[], at: Micros): Promise<number[]> {
    const items = lanes.map((lane) => ({ lane }));
    const rows = await this.#rows<{ readonly i: number; readonly seq: string }>(SEQS_AT, items, [at]);
    return inOrder(lanes.length, rows, ({ seq }) => Number(seq));
  }

  async runInStream(tenantId: TenantId, runId: EventId): Promise<RunInStream | null> {
    const [row] = await this.#database.query<{
      readonly before: string;
      readonly ended: string | null;
      readonly final: boolean;
      readonly turn_id: TurnId | null;
    }>(RUN_IN_STREAM, [tenantId, runId]);
    if (row === undefined) return null;
    const { before, ended, final, turn_id } = row;
    return {
      before: Number(before),
      ended: ended === null ? null : Number(ended),
      isFinal: final,
      turnId: turn_id,
    };
  }

  async #events(wanted: readonly Wanted[]): Promise<Map<Wanted, Found>> {
    const places = wanted.flatMap((item, i) => ordsOf(item).map((ord) => ({ i, lane: item.lane, ord, item })));
    const { rowsMax = ROWS_MAX, bytesMax = BYTES_MAX } = wanted[0] ?? {};
    const range = [wanted.map(({ after }) => after), wanted.map(({ upTo }) => upTo), rowsMax];
    const [taken, aside, messages, marks] = await Promise.all([
      this.#rows<Cut<EventRow>>(EVENTS_AT, places, [
        places.map(({ ord }) => ord),
        places.map(({ item }) => item.after),
        bytesMax,
      ]),
      this.#rows<Cut<EventRow>>(ENDED_ASIDE, wanted, [...range, bytesMax]).then(byItem),
      this.#rows<Cut<MessageRow>>(MESSAGES, wanted, [...range, bytesMax]).then(byItem),
      this.#rows<MarkRow>(MARKS, wanted, range).then(byItem),
    ]);
    const takenBy = byItem(taken.map((row) => ({ ...row, i: (places[row.i - 1]?.i ?? 0) + 1 })));
    return new Map(
      wanted.map((item, i) => {
        const rows = { taken: takenBy(i), aside: aside(i), messages: messages(i), marks: marks(i) };
        const toldAt = ({ seq }: EventRow) => Math.max(Number(seq ?? item.head.turn_seq), item.after + 1);
        const ends = [
          item.upTo,
          ...lastOf(rows.aside, rowsMax, ({ end_seq }) => end_seq),
          ...lastOf(rows.messages, rowsMax, ({ seq }) => seq),
          ...lastOf(rows.marks, rowsMax, ({ seq }) => seq),
          ...beforeCut(rows.taken, toldAt),
          ...beforeCut(rows.aside, ({ end_seq }) => Number(end_seq)),
          ...beforeCut(rows.messages, ({ seq }) => Number(seq)),
        ];
        const whole = {
          ...rows,
          taken: wholeOf(rows.taken),
          aside: wholeOf(rows.aside),
          messages: wholeOf(rows.messages),
        };
        const isCut = [...rows.taken, ...rows.aside, ...rows.messages].some(({ cut }) => cut);
        return [item, { upTo: Math.min(...ends), events: eventsOf(item, whole), isCut }];
      }),
    );
  }

  async #headRows(lanes: readonly LaneRef[]): Promise<(HeadRow | null)[]> {
    const items = lanes.map((lane) => ({ lane }));
    const rows = byItem(await this.#rows<HeadRow>(HEADS, items, []));
    return lanes.map((_, i) => rows(i)[0] ?? null);
  }

  #rows<Row>(
    statement: ReturnType<typeof call>,
    items: readonly { readonly lane: LaneRef }[],
    more: readonly unknown[],
  ): Promise<Row[]> {
    if (items.length === 0) return Promise.resolve([]);
    return this.#database.query<Row>(statement, [
      tenantsOf(items.map(({ lane }) => lane.tenantId)),
      ...columns<{ readonly lane: LaneRef }>(
        items,
        ({ lane }) => lane.slot,
        ({ lane }) => lane.tenantId,
        ({ lane }) => lane.laneId,
      ),
      ...more,
    ]);
  }
}

/** Places of the events that the ended turns and the running one have. */
function ordsOf({ turns, head }: Wanted): string[] {
  const running = head.turn_id === null ? [] : (head.turn_ords ?? []);
  return [...new Set([...turns.flatMap(({ ords }) => ords), ...running])];
}

/** Everything that the rows of a lane tell of. */
function eventsOf({ head, turns }: Wanted, { taken, aside, messages, marks }: LaneRows): DurableEvent[] {
  const inbound = [...new Map([...taken, ...aside].map((row) => [row.id, row])).values()];
  const running = inbound.filter(({ ord }) => head.turn_ords?.includes(ord));
  const isRunning = !turns.some(({ id }) => id === head.turn_id);
  return [
    ...turns.flatMap((row) => eventsOfTurn(row, head)),
    ...(isRunning ? eventsOfRunningTurn(head, running) : []),
    ...inbound.flatMap((row) => eventsOfInbound(row, head)),
    ...messages.flatMap((row) => eventsOfMessage(row, head)),
    ...marks.flatMap((row) => eventsOfMark(row, { head, turns })),
  ];
}

interface LaneRows {
  /** By the turns that ended, and the running one. */
  readonly taken: readonly EventRow[];
  readonly aside: readonly EventRow[];
  readonly messages: readonly MessageRow[];
  readonly marks: readonly MarkRow[];
}

/** The rows of each item of a batch. */
function byItem<Row extends { readonly i: number }>(rows: readonly Row[]): (i: number) => readonly Row[] {
  const groups = Map.groupBy(rows, ({ i }) => i - 1);
  return (i) => groups.get(i) ?? [];
}

/** Where rows end that were limited: there may be more of them behind it. */
function lastOf<Row>(rows: readonly Row[], rowsMax: number, seqOf: (row: Row) => string | null): number[] {
  const last = rows.length >= rowsMax ? rows.at(-1) : undefined;
  return last === undefined ? [] : [Number(seqOf(last))];
}

/** A row that did not fit came without its body. */
type Cut<Row> = Row & { readonly cut: boolean };

function wholeOf<Row>(rows: readonly Cut<Row>[]): readonly Row[] {
  return rows.filter(({ cut }) => !cut);
}

/** The page ends before what did not fit. */
function beforeCut<Row>(rows: readonly Cut<Row>[], seqOf: (row: Row) => number): number[] {
  return rows.flatMap((row) => (row.cut ? [seqOf(row) - 1] : []));
}

function pageOf({ after, head }: Wanted, found: Found | undefined): LanePage | 'later' {
  const upTo = found?.upTo ?? after;
  const events = (found?.events ?? []).filter(({ seq }) => seq > after && seq <= upTo);
  if (found?.isCut === true && upTo <= after) return 'later';
  return { events: inStreamOrder(events), upTo, head: Number(head.seq) };
}

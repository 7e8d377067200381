import {
  type DurableEvent,
  type EventId,
  inStreamOrder,
  type LaneHead,
  type LanePage,
  type LaneRef,
  type PendingEvent,
  type StreamReads,
  type TenantId,
} from '@turnkeeper/core';
import { call, columns, tenantsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import {
  type EventRow,
  eventOfMark,
  eventsOfInbound,
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
const EVENTS_AT = call('events_at', 5);
const ENDED_ASIDE = call('ended_aside', 6);
const MESSAGES = call('changed_messages', 6);
const MARKS = call('changed_marks', 6);
const PENDING = call('pending_events', 5);
const SEQ_BEFORE_RUN = call('seq_before_run', 2);

/** Ended turns per lane and page. */
const TURNS_MAX = 100;
const PENDING_MAX = 200;

/** A lane of which the changes in (after, upTo] are wanted, with what was read of it so far. */
interface Wanted {
  readonly lane: LaneRef;
  readonly after: number;
  readonly upTo: number;
  readonly head: HeadRow;
  readonly turns: readonly TurnRow[];
}

/**
 * Durable events from the rows, in Postgres as tk_engine, many lanes at once. The heads are read first: what a later
 * statement finds beyond them is left for the next page, so that a page is whole though each statement has its own
 * snapshot. A further kind of row is a function in SQL, one here that says what it tells of, and a line in `#events`.
 */
export class StreamStore implements StreamReads {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async heads(lanes: readonly LaneRef[]): Promise<(LaneHead | null)[]> {
    const rows = await this.#headRows(lanes);
    return lanes.map((lane, i) => {
      const row = rows[i] ?? null;
      return row && { lane, sessionKey: row.key, seq: Number(row.seq), isRunning: row.turn_id !== null };
    });
  }

  async changes(items: readonly { readonly lane: LaneRef; readonly after: number }[]): Promise<(LanePage | null)[]> {
    const heads = await this.#headRows(items.map(({ lane }) => lane));
    const turns = await this.#rows<TurnRow>(TURNS, items, [items.map(({ after }) => after), TURNS_MAX]);
    const wanted = items.map(({ lane, after }, i): Wanted | null => {
      const head = heads[i];
      if (!head) return null;
      const mine = turns.filter((row) => row.i === i + 1);
      const last = mine.length === TURNS_MAX ? mine.at(-1) : undefined;
      const upTo = last === undefined ? Number(head.seq) : Math.max(after, Number(last.end_seq));
      return { lane, after, upTo, head, turns: mine };
    });
    const found = await this.#events(wanted.flatMap((item) => item ?? []));
    return wanted.map((item) => item && pageOf(item, found.get(item) ?? []));
  }

  async pending(lane: LaneRef): Promise<PendingEvent[]> {
    const { tenantId, slot, laneId } = lane;
    const values = [tenantId, slot, tenantId, laneId, PENDING_MAX];
    const rows = await this.#database.query<{ id: EventId; client_id: string | null; before: string }>(PENDING, values);
    return rows.map(({ id, client_id, before }) => ({ eventId: id, clientId: client_id, position: Number(before) }));
  }

  async seqBefore(tenantId: TenantId, runId: EventId): Promise<number | null> {
    const [row] = await this.#database.query<{ seq: string }>(SEQ_BEFORE_RUN, [tenantId, runId]);
    return row === undefined ? null : Number(row.seq);
  }

  /** Everything that the rows of these lanes tell of. */
  async #events(wanted: readonly Wanted[]): Promise<Map<Wanted, DurableEvent[]>> {
    const places = wanted.flatMap((item) => ordsOf(item).map((ord) => ({ item, lane: item.lane, ord })));
    const range = [wanted.map(({ after }) => after), wanted.map(({ upTo }) => upTo)];
    const [taken, aside, messages, marks] = await Promise.all([
      this.#rows<EventRow>(EVENTS_AT, places, [places.map(({ ord }) => ord)]),
      this.#rows<EventRow>(ENDED_ASIDE, wanted, range),
      this.#rows<MessageRow>(MESSAGES, wanted, range),
      this.#rows<MarkRow>(MARKS, wanted, range),
    ]);
    const found = new Map(wanted.map((item) => [item, [] as DurableEvent[]]));
    for (const [i, item] of wanted.entries()) {
      const events = new Map<string, EventRow>();
      for (const row of taken) if (places[row.i - 1]?.item === item) events.set(row.id, row);
      for (const row of aside) if (row.i === i + 1) events.set(row.id, row);
      const inbound = [...events.values()];
      const running = inbound.filter(({ ord }) => item.head.turn_ords?.includes(ord));
      found
        .get(item)
        ?.push(
          ...item.turns.flatMap((row) => eventsOfTurn(row, item.head)),
          ...(item.turns.some(({ id }) => id === item.head.turn_id) ? [] : eventsOfRunningTurn(item.head, running)),
          ...inbound.flatMap((row) => eventsOfInbound(row, item.head)),
          ...messages.filter((row) => row.i === i + 1).flatMap((row) => eventsOfMessage(row, item.head)),
          ...marks.filter((row) => row.i === i + 1).map((row) => eventOfMark(row, item.head)),
        );
    }
    return found;
  }

  async #headRows(lanes: readonly LaneRef[]): Promise<(HeadRow | null)[]> {
    const items = lanes.map((lane) => ({ lane }));
    const byItem = new Map((await this.#rows<HeadRow>(HEADS, items, [])).map((row) => [row.i, row]));
    return lanes.map((_, i) => byItem.get(i + 1) ?? null);
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

function pageOf({ after, upTo, head }: Wanted, events: readonly DurableEvent[]): LanePage {
  const inRange = events.filter(({ seq }) => seq > after && seq <= upTo);
  return { events: inStreamOrder(inRange), upTo, head: Number(head.seq) };
}

import {
  type AccountId,
  type AgentId,
  digestId,
  EVENT_KIND,
  EVENT_STATE,
  type EventBody,
  type EventId,
  type EventKind,
  formatId,
  type LaneId,
  type ParkedEvent,
  type ParkedEvents,
  type TenantId,
} from '@turnkeeper/core';
import type { Database } from '../database.ts';
import { type QueryBuilder, queryBuilder, type RowOf, runQuery } from './queries.ts';
import { laneOfEvent } from './run-query.ts';
import { nameOf } from './state-names.ts';

/** What was set aside, over all tenants, as tk_admin. */
export class ParkedEventStore implements ParkedEvents {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor({ database }: { readonly database: Database }) {
    this.#database = database;
  }

  async find(eventId: EventId): Promise<ParkedEvent | 'not_parked' | 'erased' | null> {
    const [row] = await runQuery(this.#database, selectEvent(this.#build, eventId));
    if (row === undefined) return null;
    if (row.state !== EVENT_STATE.parked) return 'not_parked';
    return isWhole(row.body) ? parkedOf(eventId, row, row.body) : 'erased';
  }

  async noteReplay({ parked, eventId, actor }: Parameters<ParkedEvents['noteReplay']>[0]): Promise<void> {
    const query = this.#build
      .insertInto('tk.audit')
      .values({
        tenant_id: parked.tenantId,
        id: digestId('event.replayed', eventId),
        actor,
        action: 'event.replayed',
        subject: `event:${formatId('evt', parked.eventId)}`,
        detail: JSON.stringify({ eventId: formatId('evt', eventId) }),
      })
      .onConflict((conflict) => conflict.doNothing());
    await runQuery(this.#database, query);
  }
}

/** Of each tenant by its primary key: an event's id alone leads no index. */
function selectEvent(build: QueryBuilder, eventId: EventId) {
  return build
    .selectFrom('tk.tenants as t')
    .innerJoin('tk.events as e', 'e.tenant_id', 't.id')
    .innerJoinLateral(
      (from) => laneOfEvent(from).as('l'),
      (join) => join.onTrue(),
    )
    .where('e.id', '=', eventId)
    .select(['e.slot', 'e.tenant_id', 'e.lane_id', 'e.kind', 'e.state', 'e.account_id', 'e.body'])
    .select(['l.agent_id', 'l.key'])
    .limit(1);
}

/** What was erased keeps no source. */
function isWhole(body: unknown): body is EventBody {
  return typeof body === 'object' && body !== null && 'source' in body;
}

function parkedOf(eventId: EventId, row: RowOf<typeof selectEvent>, body: EventBody): ParkedEvent {
  return {
    eventId,
    slot: row.slot,
    tenantId: row.tenant_id as TenantId,
    laneId: row.lane_id as LaneId,
    agentId: row.agent_id as AgentId,
    sessionKey: row.key,
    kind: nameOf<EventKind>(EVENT_KIND, row.kind) ?? 'message',
    accountId: row.account_id as AccountId | null,
    body,
  };
}

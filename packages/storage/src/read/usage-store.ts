import {
  type AgentId,
  decodeCursor,
  encodeCursor,
  type Page,
  type TenantId,
  type UsageFilter,
  type UsageReads,
  type UsageRecord,
} from '@turnkeeper/core';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { pageOf } from './page.ts';
import { asTenant, type QueryBuilder, queryBuilder, type RowOf } from './queries.ts';

const LIST = 'usage';
const DAY_MS = 86_400_000;
const FIRST_DAY = '1970-01-01';

/** What a tenant used, on the role `tk_api`: some rows a day for each agent. */
export class UsageStore implements UsageReads {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor(database: Database) {
    this.#database = database;
  }

  async list(tenantId: TenantId, filter: UsageFilter): Promise<Page<UsageRecord>> {
    const query = selectUsage(this.#build, tenantId, filter);
    const rows = await asTenant(this.#database, tenantId, (run) => run(query));
    return pageOf(rows.map(usageOf), filter.limit, ({ day, agentId }) =>
      encodeCursor(LIST, [dayNumberOf(day), agentId]),
    );
  }
}

const amountOf = (measure: string) => sql<string>`coalesce(sum(u.amount) filter (where u.measure = ${measure}), 0)`;

function selectUsage(build: QueryBuilder, tenantId: TenantId, { from, to, agentId, cursor, limit }: UsageFilter) {
  const [day, agent] = cursor === undefined ? [] : decodeCursor(LIST, cursor, ['integer', 'uuid']);
  return build
    .selectFrom('tk.usage as u')
    .leftJoin('tk.agents as a', (join) =>
      join.onRef('a.tenant_id', '=', 'u.tenant_id').onRef('a.id', '=', 'u.agent_id').on('a.deleted_at', 'is', null),
    )
    .select([sql<string>`to_char(u.day, 'YYYY-MM-DD')`.as('day'), 'u.agent_id', 'a.name'])
    .select([amountOf('turns').as('turns'), amountOf('events').as('events'), amountOf('deliveries').as('deliveries')])
    .select([amountOf('tokens_in').as('tokens_in'), amountOf('tokens_out').as('tokens_out')])
    .where('u.tenant_id', '=', tenantId)
    .$if(from !== undefined, (q) => q.where(sql<SqlBool>`u.day >= ${inRange(from)}::date`))
    .$if(to !== undefined, (q) => q.where(sql<SqlBool>`u.day <= ${inRange(to)}::date`))
    .$if(agentId !== undefined, (q) => q.where('u.agent_id', '=', agentId ?? ''))
    .$if(day !== undefined, (q) =>
      q.where(
        sql<SqlBool>`(u.day, u.agent_id) < (date '1970-01-01' + least(${day}::bigint, 1000000)::int, ${agent}::uuid)`,
      ),
    )
    .groupBy(['u.day', 'u.agent_id', 'a.name'])
    .orderBy('u.day', 'desc')
    .orderBy('u.agent_id', 'desc')
    .limit(limit + 1);
}

function usageOf(row: RowOf<typeof selectUsage>): UsageRecord {
  return {
    day: row.day,
    agentId: row.agent_id as AgentId,
    agentName: row.name,
    turns: Number(row.turns),
    events: Number(row.events),
    deliveries: Number(row.deliveries),
    tokensIn: Number(row.tokens_in),
    tokensOut: Number(row.tokens_out),
  };
}

/** Days since 1970: cursors hold whole numbers, and any of them is a day to the store. */
function dayNumberOf(day: string): string {
  return String(Math.round(Date.parse(`${day}T00:00:00Z`) / DAY_MS));
}

/** The store knows no year 0. */
function inRange(day: string | undefined): string | undefined {
  return day !== undefined && day < FIRST_DAY ? FIRST_DAY : day;
}

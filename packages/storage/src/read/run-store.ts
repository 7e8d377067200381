import {
  decodeCursor,
  type EventId,
  encodeCursor,
  type Page,
  type RunFilter,
  type RunReads,
  type RunRecord,
  type TenantId,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { pageOf } from './page.ts';
import { asTenant, asTenants, type QueryBuilder, queryBuilder } from './queries.ts';
import { hasStatus, isOfKey, runOf, selectRuns } from './run-query.ts';

export interface RunStoreOptions {
  /** On the role `tk_api`: one tenant at a time. */
  readonly api: Database;
  /** On the role `tk_engine`: the runs of many tenants at once. */
  readonly engine: Database;
}

const LIST = 'runs';

/** Runs, read from the rows of their events, lanes and replies. */
export class RunStore implements RunReads {
  readonly #api: Database;
  readonly #engine: Database;
  readonly #build: QueryBuilder = queryBuilder();

  constructor({ api, engine }: RunStoreOptions) {
    this.#api = api;
    this.#engine = engine;
  }

  async get(tenantId: TenantId, runId: EventId): Promise<RunRecord | null> {
    const query = selectRuns(this.#build).where('e.tenant_id', '=', tenantId).where('e.id', '=', runId);
    const [row] = await asTenant(this.#api, tenantId, (run) => run(query));
    return row ? runOf(row) : null;
  }

  async list(tenantId: TenantId, filter: RunFilter): Promise<Page<RunRecord>> {
    const [after] = filter.cursor === undefined ? [] : decodeCursor(LIST, filter.cursor, ['uuid']);
    const query = selectRuns(this.#build)
      .where('e.tenant_id', '=', tenantId)
      .$if(after !== undefined, (q) => q.where('e.id', '<', after ?? ''))
      .$if(filter.agentId !== undefined, (q) => q.where('l.agent_id', '=', filter.agentId ?? ''))
      .$if(filter.sessionKey !== undefined, (q) => q.where((of) => isOfKey(of, tenantId, filter.sessionKey ?? '')))
      .$if(filter.status !== undefined, (q) => q.where((of) => hasStatus(of, filter.status ?? 'queued')))
      .orderBy('e.id', 'desc')
      .limit(filter.limit + 1);
    const rows = await asTenant(this.#api, tenantId, (run) => run(query));
    return pageOf(rows.map(runOf), filter.limit, (last) => encodeCursor(LIST, [last.runId]));
  }

  async byIds(
    runs: readonly { readonly tenantId: TenantId; readonly runId: EventId }[],
  ): Promise<(RunRecord | null)[]> {
    if (runs.length === 0) return [];
    const tenantIds = runs.map((run) => run.tenantId);
    const wanted = sql<{
      tenant_id: string;
      id: string;
    }>`unnest(${tenantIds}::uuid[], ${runs.map((run) => run.runId)}::uuid[])`;
    const query = selectRuns(this.#build).innerJoin(wanted.as<'w'>(sql`w(tenant_id, id)`), (join) =>
      join.onRef('w.tenant_id', '=', 'e.tenant_id').onRef('w.id', '=', 'e.id'),
    );
    const rows = await asTenants(this.#engine, tenantIds, (run) => run(query));
    const found = new Map(rows.map((row) => [`${row.tenant_id}/${row.id}`, runOf(row)]));
    return runs.map(({ tenantId, runId }) => found.get(`${tenantId}/${runId}`) ?? null);
  }
}

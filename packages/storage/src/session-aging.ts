import type { AgedSession, IdleSession, LaneId, SessionAging, SessionId, TenantId } from '@turnkeeper/core';
import { call, columns } from './columns.ts';
import type { Database } from './database.ts';

const IDLE_SESSIONS = call('idle_sessions', 4);
const AGE_SESSIONS = call('age_sessions', 6);

interface IdleRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly session_id: SessionId;
  readonly status: IdleSession['status'];
  readonly last_activity_at: Date;
  readonly seen: string;
  readonly now: Date;
}

/** The lifecycle of sessions, in Postgres as tk_sweep: changed by compare-and-set under the lane's lock. */
export class PostgresSessionAging implements SessionAging {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async idle({ slots, expiryHours, archiveHours, limit }: Parameters<SessionAging['idle']>[0]): Promise<IdleSession[]> {
    const rows = await this.#database.query<IdleRow>(IDLE_SESSIONS, [slots, expiryHours, archiveHours, limit]);
    return rows.map(
      (row): IdleSession => ({
        lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
        sessionId: row.session_id,
        status: row.status,
        lastActivityAt: row.last_activity_at,
        seen: row.seen,
        now: row.now,
      }),
    );
  }

  async age(changes: readonly (IdleSession & { readonly to: 'expired' | 'archived' })[]): Promise<AgedSession[]> {
    if (changes.length === 0) return [];
    const rows = await this.#database.query<Omit<IdleRow, 'status'> & { readonly status: 'expired' | 'archived' }>(
      AGE_SESSIONS,
      columns<(typeof changes)[number]>(
        changes,
        ({ lane }) => lane.slot,
        ({ lane }) => lane.tenantId,
        ({ lane }) => lane.laneId,
        ({ sessionId }) => sessionId,
        ({ seen }) => seen,
        ({ to }) => to,
      ),
    );
    return rows.map((row) => ({
      lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
      status: row.status,
    }));
  }
}

import type { AgedLane, CrowdedTenant, LaneId, LaneRetention, TenantId } from '@turnkeeper/core';
import { call, columns } from './columns.ts';
import type { Database } from './database.ts';

const AGED_LANES = call('aged_lanes', 3);
const CROWDED_TENANTS = call('crowded_tenants', 1);
const FORGET_LANES = call('forget_lanes', 4);

interface LaneRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly works: boolean;
  readonly seen: string;
}
interface AgedRow extends LaneRow {
  readonly max_age_days: number;
  readonly idle_days: number;
  readonly suspended: boolean;
}
interface CrowdedRow extends LaneRow {
  readonly lanes_max: number;
  readonly lanes: number;
  readonly updated_at: Date;
}

const laneOf = (row: LaneRow) => ({ slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id });

/** Which lanes a tenant has too many of or for too long, in Postgres as tk_sweep: forgotten by compare-and-set under their locks. */
export class PostgresLaneRetention implements LaneRetention {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async aged({ slots, defaultDays, limit }: Parameters<LaneRetention['aged']>[0]): Promise<AgedLane[]> {
    const rows = await this.#database.query<AgedRow>(AGED_LANES, [slots, defaultDays, limit]);
    return rows.map((row) => ({
      lane: laneOf(row),
      maxAgeDays: row.max_age_days,
      idleDays: row.idle_days,
      suspended: row.suspended,
      activeWork: row.works ? 'running' : 'none',
      seen: row.seen,
    }));
  }

  async crowded(limit: number): Promise<CrowdedTenant[]> {
    const rows = await this.#database.query<CrowdedRow>(CROWDED_TENANTS, [limit]);
    return [...Map.groupBy(rows, (row) => row.tenant_id).values()].map((lanes) => ({
      lanesMax: lanes[0]?.lanes_max ?? 0,
      lanes: lanes[0]?.lanes ?? 0,
      oldest: lanes.map((row) => ({
        lane: laneOf(row),
        updatedAt: row.updated_at,
        running: row.works,
        seen: row.seen,
      })),
    }));
  }

  async forget(lanes: Parameters<LaneRetention['forget']>[0]): Promise<number> {
    if (lanes.length === 0) return 0;
    const [row] = await this.#database.query<{ forget_lanes: string }>(
      FORGET_LANES,
      columns<(typeof lanes)[number]>(
        lanes,
        ({ lane }) => lane.slot,
        ({ lane }) => lane.tenantId,
        ({ lane }) => lane.laneId,
        ({ seen }) => seen,
      ),
    );
    return Number(row?.forget_lanes ?? 0);
  }
}

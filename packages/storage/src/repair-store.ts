import type {
  BootId,
  ClusterLoad,
  LostTurn,
  RepairStore,
  TenantId,
  TenantLoad,
  TurnVerdict,
  UnknownSend,
  UnknownVerdict,
} from '@turnkeeper/core';
import { call, flags, json } from './columns.ts';
import type { Database } from './database.ts';
import { type LostTurnRow, lostTurnOf, verdictColumns } from './lost-turns.ts';
import { type UnknownRow, unknownColumns, unknownOf } from './unknown-sends.ts';

const LEAD = {
  name: 'lead',
  text: `insert into tk.leases as l (name, holder) values ($1, $2)
    on conflict (name) do update set holder = excluded.holder, beat_at = clock_timestamp(),
      taken_at = case when l.holder = excluded.holder then l.taken_at else clock_timestamp() end
    where l.holder = excluded.holder or l.beat_at < clock_timestamp() - $3 * interval '1 millisecond'
    returning 1`,
};
const RESIGN = { name: 'resign', text: 'delete from tk.leases where name = $1 and holder = $2' };
const NOW = {
  name: 'database_now',
  text: 'select extract(epoch from clock_timestamp())::double precision * 1000 as now_ms',
};
// both times are looked at for each row, after waiting for its lock: a heartbeat that came first saves its process
const DECLARE_DEAD = {
  name: 'declare_dead',
  text: `update tk.workers w set state = 3, ended_at = clock_timestamp()
    where w.state in (0, 1) and w.beat_at < clock_timestamp() - $1 * interval '1 millisecond'
      and abs(extract(epoch from clock_timestamp())::double precision * 1000 - $2) <= 1000
    returning w.boot_id`,
};
const COUNT_FALSE_DEATHS = {
  name: 'count_false_deaths',
  text: 'update tk.workers set woke = 2 where state = 3 and woke = 1 returning 1',
};
const COUNT_STALE_COMMITS = {
  name: 'count_stale_commits',
  text: `with s as (select boot_id, stale_commits from tk.workers where state = 3 and stale_commits > 0 for no key update skip locked),
      u as (update tk.workers w set stale_commits = 0 from s where w.boot_id = s.boot_id)
    select coalesce(sum(stale_commits), 0)::int as stale from s`,
};
const FREE_PARTITIONS = {
  name: 'free_partitions',
  text: `update tk.partitions p set owner = null, epoch = p.epoch + 1, changed_at = clock_timestamp()
    where p.owner is not null and not exists (select 1 from tk.workers o where o.boot_id = p.owner and o.state in (0, 1))
    returning p.id`,
};
// the states are named twice so that the partial index of what is owed is used
const MEASURE_CLUSTER = {
  name: 'measure_cluster',
  text: `select (select coalesce(sum(l.queued), 0) from tk.tenant_load l)::double precision as queued,
      (select count(*) from tk.messages m where m.dstate in (0, 1, 4) and m.dstate = 4)::int as unknown,
      (select count(*) from tk.lanes z where z.suspended and z.resumes >= 3)::int as suspended,
      (select count(*) from tk.inputs i where i.state = 'open')::int as waiting,
      (select extract(epoch from clock_timestamp() - min(m.at)) * 1000 from tk.messages m
        where m.dstate in (0, 1, 4) and m.dstate in (0, 1))::double precision as oldest_ms`,
};
const LOST_TURNS = call('lost_turns', 2);
const INTERRUPT_TURNS = call('interrupt_turns', 17);
const LOST_SENDS = call('lost_sends', 2);
const UNKNOWN_SENDS = call('owed_sends', 1);
const DECIDE_UNKNOWN = call('decide_unknown', 9);
const MEASURE_LOAD = call('measure_load', 1);
const DELETE_EXPIRED = call('delete_expired', 3);
const DELETE_OLD_MARKS = call('delete_old_marks', 2);
const DELETE_ATTACHMENTS = call('delete_attachments', 2);
/** A file is many rows, and most of them are large. */
const ATTACHMENTS_PER_BATCH = 20;

const LOST_SEND_ERROR = { code: 'sender_lost' };

/**
 * The coordinator's repairs, in Postgres as tk_sweep, which sees every tenant. All of it looks at what is true now, not at
 * what just happened, and changes rows by compare-and-set: a second leader, or one that was asleep, changes nothing twice.
 */
export class PostgresRepairStore implements RepairStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async lead(name: string, holder: BootId, leaseMs: number): Promise<boolean> {
    const rows = await this.#database.query(LEAD, [name, holder, leaseMs]);
    return rows.length > 0;
  }

  async resign(name: string, holder: BootId): Promise<void> {
    await this.#database.query(RESIGN, [name, holder]);
  }

  async databaseNowMs(): Promise<number> {
    const [row] = await this.#database.query<{ now_ms: number }>(NOW, []);
    return row?.now_ms ?? Number.NaN;
  }

  async declareDead(leaseMs: number, expectedDatabaseMs: number): Promise<BootId[]> {
    const rows = await this.#database.query<{ boot_id: BootId }>(DECLARE_DEAD, [leaseMs, expectedDatabaseMs]);
    return rows.map((row) => row.boot_id);
  }

  async countFalseDeaths(): Promise<number> {
    const rows = await this.#database.query(COUNT_FALSE_DEATHS, []);
    return rows.length;
  }

  async countStaleCommits(): Promise<number> {
    const [row] = await this.#database.query<{ stale: number }>(COUNT_STALE_COMMITS, []);
    return row?.stale ?? 0;
  }

  async lostTurns(limit: number, takeovers: number): Promise<LostTurn[]> {
    return (await this.#database.query<LostTurnRow>(LOST_TURNS, [limit, takeovers])).map(lostTurnOf);
  }

  async interrupt(verdicts: readonly TurnVerdict[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(INTERRUPT_TURNS, verdictColumns(verdicts));
    const written = new Set(rows.map(({ i }) => i - 1));
    return verdicts.map((_, i) => written.has(i));
  }

  async lostSends(limit: number): Promise<number> {
    return (await this.#database.query(LOST_SENDS, [limit, json(LOST_SEND_ERROR)])).length;
  }

  async unknownSends(limit: number): Promise<UnknownSend[]> {
    return (await this.#database.query<UnknownRow>(UNKNOWN_SENDS, [limit])).map(unknownOf);
  }

  async decideUnknown(verdicts: readonly UnknownVerdict[]): Promise<boolean[]> {
    const rows = await this.#database.query<{ i: number }>(DECIDE_UNKNOWN, unknownColumns(verdicts));
    return flags(verdicts.length, rows);
  }

  async freePartitions(): Promise<number[]> {
    const rows = await this.#database.query<{ id: number }>(FREE_PARTITIONS, []);
    return rows.map((row) => row.id);
  }

  async measureLoad(top: number): Promise<TenantLoad[]> {
    const rows = await this.#database.query<{
      tenant_id: TenantId;
      queued: string;
      running: string;
      oldest_ready_ms: number | null;
      quota_ratio: number;
    }>(MEASURE_LOAD, [top]);
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      queued: Number(row.queued),
      turnsRunning: Number(row.running),
      oldestReadyMs: row.oldest_ready_ms,
      quotaUsedRatio: row.quota_ratio,
    }));
  }

  async measureCluster(): Promise<ClusterLoad> {
    const [row] = await this.#database.query<{
      queued: number;
      unknown: number;
      suspended: number;
      waiting: number;
      oldest_ms: number | null;
    }>(MEASURE_CLUSTER, []);
    return {
      eventsQueued: row?.queued ?? 0,
      deliveriesUnknown: row?.unknown ?? 0,
      lanesSuspended: row?.suspended ?? 0,
      turnsWaiting: row?.waiting ?? 0,
      deliveryOldestMs: row?.oldest_ms ?? null,
    };
  }

  async deleteExpired(limits: {
    readonly settledDays: number;
    readonly dedupeDays: number;
    readonly batch: number;
  }): Promise<Readonly<Record<string, number>>> {
    const values = [limits.settledDays, limits.dedupeDays, limits.batch];
    const rows = await this.#database.query<{ name: string; rows: string }>(DELETE_EXPIRED, values);
    for (const [statement, batch] of [
      [DELETE_OLD_MARKS, limits.batch],
      [DELETE_ATTACHMENTS, Math.min(limits.batch, ATTACHMENTS_PER_BATCH)],
    ] as const) {
      rows.push(
        ...(await this.#database.query<{ name: string; rows: string }>(statement, [limits.settledDays, batch])),
      );
    }
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.rows)]));
  }
}

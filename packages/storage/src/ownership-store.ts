import {
  AppError,
  type BootId,
  type OwnershipStore,
  type PartitionRow,
  SLOT_COUNT,
  WORKER_STATE,
  type WorkerRow,
  type WorkerStatus,
} from '@turnkeeper/core';
import type { Database } from './database.ts';

const REGISTER = {
  name: 'worker_register',
  text: 'insert into tk.workers (boot_id, kind, name, pid, version, turn_slots) values ($1, $2, $3, $4, $5, $6) on conflict do nothing',
};
// one that was declared dead leaves a mark that it was not, for the leader to count
const HEARTBEAT = {
  name: 'worker_heartbeat',
  text: `update tk.workers set beat_at = case when state = 3 then beat_at else clock_timestamp() end,
      woke = case when state = 3 then 1 else woke end
    where boot_id = $1 and (state in (0, 1) or state = 3 and woke = 0) returning state in (0, 1) as alive`,
};
const LEAVE = { name: 'worker_leave', text: 'update tk.workers set state = 1 where boot_id = $1 and state = 0' };
const GONE = {
  name: 'worker_gone',
  text: `with w as (update tk.workers set state = 2, ended_at = clock_timestamp() where boot_id = $1 and state in (0, 1) returning boot_id)
    update tk.partitions p set owner = null, epoch = p.epoch + 1, changed_at = clock_timestamp() from w where p.owner = w.boot_id`,
};
const VIEW = {
  name: 'ownership_view',
  text: `select
      (select coalesce(json_agg(json_build_object('bootId', w.boot_id, 'state', w.state, 'turnSlots', w.turn_slots,
          'silentMs', extract(epoch from clock_timestamp() - w.beat_at) * 1000) order by w.started_at, w.boot_id), '[]')
        from tk.workers w where w.kind = 'session-worker' and w.state in (0, 1)) as workers,
      (select coalesce(json_agg(json_build_object('id', p.id, 'owner', p.owner, 'ownerState', o.state, 'epoch', p.epoch::text) order by p.id), '[]')
        from tk.partitions p left join tk.workers o on o.boot_id = p.owner) as partitions`,
};
// A rival that took the partition first is met on its row, whose new owner is then judged by the row.
const ACQUIRE = {
  name: 'partitions_acquire',
  text: `with got as (
      update tk.partitions p set owner = $1, epoch = p.epoch + 1, changed_at = clock_timestamp()
      where p.id = any ($2::smallint[])
        and (p.owner is null or not exists (select 1 from tk.workers o where o.boot_id = p.owner and o.state in (0, 1)))
        and exists (select 1 from tk.workers me where me.boot_id = $1 and me.state = 0)
      returning p.id)
    select id from got union select p.id from tk.partitions p where p.id = any ($2::smallint[]) and p.owner = $1 order by id`,
};
const RELEASE = {
  name: 'partitions_release',
  text: `update tk.partitions p set owner = null, epoch = p.epoch + 1, changed_at = clock_timestamp()
    where p.id = any ($2::smallint[]) and p.owner = $1`,
};
const SLOT_MAP = { name: 'slot_map', text: 'select array_agg(partition_id order by slot) as partitions from tk.slots' };

interface ViewRow {
  readonly workers: readonly { bootId: BootId; state: number; turnSlots: number; silentMs: number }[];
  readonly partitions: readonly { id: number; owner: BootId | null; ownerState: number | null; epoch: string }[];
}

/**
 * Who is alive and who owns what, in Postgres, as tk_engine or tk_sweep. A process: live → leaving → gone, or live → dead
 * by the coordinator; gone and dead are final. A partition: free → owned by a live worker → free, each change by
 * compare-and-set and with a higher epoch. Owning is efficiency: what a lane's rows may become never depends on it.
 */
export class PostgresOwnershipStore implements OwnershipStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async register(row: Parameters<OwnershipStore['register']>[0]): Promise<void> {
    await this.#database.query(REGISTER, [row.bootId, row.kind, row.name, row.pid, row.version, row.turnSlots]);
  }

  async heartbeat(bootId: BootId): Promise<boolean> {
    const [row] = await this.#database.query<{ alive: boolean }>(HEARTBEAT, [bootId]);
    return row?.alive === true;
  }

  async leave(bootId: BootId): Promise<void> {
    await this.#database.query(LEAVE, [bootId]);
  }

  async gone(bootId: BootId): Promise<void> {
    await this.#database.query(GONE, [bootId]);
  }

  async view(): Promise<{ readonly workers: readonly WorkerRow[]; readonly partitions: readonly PartitionRow[] }> {
    const [row] = await this.#database.query<ViewRow>(VIEW, []);
    if (row === undefined) throw new AppError({ code: 'internal', message: 'the view of workers has no row' });
    return {
      workers: row.workers.map((worker) => ({ ...worker, state: statusOf(worker.state) })),
      partitions: row.partitions.map((partition) => ({
        ...partition,
        ownerState: partition.ownerState === null ? null : statusOf(partition.ownerState),
      })),
    };
  }

  async acquire(bootId: BootId, partitions: readonly number[]): Promise<number[]> {
    const rows = await this.#database.query<{ id: number }>(ACQUIRE, [bootId, partitions]);
    return rows.map((row) => row.id);
  }

  async release(bootId: BootId, partitions: readonly number[]): Promise<void> {
    await this.#database.query(RELEASE, [bootId, partitions]);
  }

  async slotMap(): Promise<Int16Array> {
    const [row] = await this.#database.query<{ partitions: number[] }>(SLOT_MAP, []);
    const map = Int16Array.from(row?.partitions ?? []);
    if (map.length !== SLOT_COUNT) {
      throw new AppError({
        code: 'schema_mismatch',
        message: `The slot map has ${map.length} slots, not ${SLOT_COUNT}.`,
      });
    }
    return map;
  }
}

const STATUSES: readonly WorkerStatus[] = ['live', 'leaving', 'gone', 'dead'];

function statusOf(state: number): WorkerStatus {
  const status = STATUSES.find((name) => WORKER_STATE[name] === state);
  if (status === undefined)
    throw new AppError({ code: 'internal', message: `a worker has the unknown state ${state}` });
  return status;
}

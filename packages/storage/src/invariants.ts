import { readdir, readFile } from 'node:fs/promises';
import {
  type InvariantKind,
  type Invariants,
  type LaneId,
  type LaneRef,
  SLOT_COUNT,
  type TenantId,
  type Violation,
} from '@turnkeeper/core';
import { call, columns } from './columns.ts';
import type { Database } from './database.ts';

const ROWS_MAX = 200;
const SLOT_MAX = SLOT_COUNT - 1;
const FILE = /^(p\d+)-[a-z0-9-]+\.sql$/;
const OPEN_UNTIL = call('open_until', 2);
const REPAIR_LANES = call('repair_lanes', 3);

export interface InvariantReport {
  /** Events that were looked at. */
  readonly checked: number;
  /** At most 200 of each invariant. */
  readonly violations: readonly Violation[];
}

/**
 * Judges the promises P1 to P6 from the rows, over all tenants, changing nothing. `since` bounds how far back history is read;
 * open work is judged however old it is. Rows younger than 10 s are left out only where something is merely not done yet.
 * @param database a pool of role `tk_sweep`
 * @throws StoreError
 */
export async function checkInvariants(database: Database, since: Date): Promise<InvariantReport> {
  const violations: Violation[] = [];
  violations.push(...(await broken(database, await readInvariants('history'), [since])));
  violations.push(...(await broken(database, await readInvariants('open'), [0, SLOT_MAX, since])));
  const [counted] = await database.query<{ checked: string }>(
    { name: 'count_checked', text: 'select count(*) as checked from tk.events where accepted_at >= $1' },
    [since],
  );
  return { checked: Number(counted?.checked ?? 0), violations };
}

/** The same list for the leader, which looks again and again; its files are read once. */
export class PostgresInvariants implements Invariants {
  readonly #database: Database;
  readonly #read = new Map<InvariantKind, readonly Invariant[]>();

  /** @param database a pool of role `tk_sweep` */
  constructor(database: Database) {
    this.#database = database;
  }

  async names(kind: InvariantKind): Promise<string[]> {
    return (await this.#invariants(kind)).map(({ invariant }) => invariant);
  }

  async history(lastMs: number): Promise<Violation[]> {
    return broken(this.#database, await this.#invariants('history'), [await this.#since(lastMs)]);
  }

  async openWork({ fromSlot, rows, lastMs }: Parameters<Invariants['openWork']>[0]) {
    const [found] = await this.#database.query<{ open_until: number }>(OPEN_UNTIL, [fromSlot, rows]);
    const untilSlot = found?.open_until ?? SLOT_MAX;
    const values = [fromSlot, untilSlot, await this.#since(lastMs)];
    const violations = await broken(this.#database, await this.#invariants('open'), values);
    return { violations, nextSlot: untilSlot < SLOT_MAX ? untilSlot + 1 : 0 };
  }

  async #since(lastMs: number): Promise<Date> {
    const [now] = await this.#database.query<{ since: Date }>(
      { name: 'look_since', text: "select now() - $1 * interval '1 millisecond' as since" },
      [lastMs],
    );
    return now?.since ?? new Date(0);
  }

  async repair(lanes: readonly LaneRef[]): Promise<ReadonlyMap<LaneId, readonly string[]>> {
    const repaired = new Map<LaneId, string[]>();
    if (lanes.length === 0) return repaired;
    const rows = await this.#database.query<{ lane_id: LaneId; kind: string }>(
      REPAIR_LANES,
      columns(
        lanes,
        ({ slot }) => slot,
        ({ tenantId }) => tenantId,
        ({ laneId }) => laneId,
      ),
    );
    for (const { lane_id, kind } of rows) repaired.set(lane_id, [...(repaired.get(lane_id) ?? []), kind]);
    return repaired;
  }

  async #invariants(kind: InvariantKind): Promise<readonly Invariant[]> {
    const known = this.#read.get(kind);
    if (known !== undefined) return known;
    const invariants = await readInvariants(kind);
    // only what could be read is kept: the next look reads again
    this.#read.set(kind, invariants);
    return invariants;
  }
}

interface Invariant {
  readonly invariant: string;
  readonly promise: string;
  readonly sql: string;
}

interface FoundRow {
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly subject: string;
  readonly subject_kind: Violation['subjectKind'];
  readonly detail: string;
  /** Of open work only. */
  readonly slot?: number;
  readonly repairable?: boolean;
}

/** `values`: of what a file may ask for, in the order of its parameters; it need not ask for the last ones. */
async function broken(
  database: Database,
  invariants: readonly Invariant[],
  values: readonly unknown[],
): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { invariant, promise, sql } of invariants) {
    const rows = await database.query<FoundRow>(
      { name: invariant, text: `select * from (${sql}) found limit ${ROWS_MAX}` },
      values.filter((_, i) => sql.includes(`$${i + 1}`)),
    );
    for (const row of rows) {
      violations.push({
        promise,
        invariant,
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        slot: row.slot ?? null,
        subject: row.subject,
        subjectKind: row.subject_kind,
        detail: row.detail,
        repairable: row.repairable ?? false,
      });
    }
  }
  return violations;
}

/** Each file of `sql/invariants/<kind>` is one invariant. */
async function readInvariants(kind: InvariantKind): Promise<Invariant[]> {
  const folder = new URL(`../sql/invariants/${kind}/`, import.meta.url);
  const files = (await readdir(folder)).toSorted();
  return Promise.all(
    files.flatMap((file) => {
      const promise = FILE.exec(file)?.[1];
      if (promise === undefined) return [];
      const read = async () => ({
        invariant: file.replace('.sql', ''),
        promise: promise.toUpperCase(),
        sql: await readFile(new URL(file, folder), 'utf8'),
      });
      return [read()];
    }),
  );
}

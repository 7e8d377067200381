import { readdir, readFile } from 'node:fs/promises';
import type { Database } from './database.ts';

const ROWS_MAX = 200;
const FILE = /^(p\d+)-[a-z0-9-]+\.sql$/;

/** One row that breaks a promise. */
export interface Violation {
  /** `P1` to `P6`. */
  readonly promise: string;
  /** Name of the check: its file in `sql/invariants`. */
  readonly invariant: string;
  readonly tenantId: string;
  readonly laneId: string;
  /** What is at fault, as a UUID; `events`, `turns`, `messages`, `lanes` is its table. */
  readonly subject: string;
  readonly subjectKind: 'events' | 'turns' | 'messages' | 'lanes';
  readonly detail: string;
}

export interface InvariantReport {
  /** Events that were looked at. */
  readonly checked: number;
  /** At most 200 of each invariant. */
  readonly violations: readonly Violation[];
}

/**
 * Judges the promises P1 to P6 from the rows, over all tenants, changing nothing. `since` bounds how far back it looks.
 * Rows younger than 10 s are left out only where something is merely not done yet.
 * @param database a pool of role `tk_sweep`
 * @throws StoreError
 */
export async function checkInvariants(database: Database, since: Date): Promise<InvariantReport> {
  const violations: Violation[] = [];
  for (const { invariant, promise, sql } of await readInvariants()) {
    const rows = await database.query<FoundRow>(
      { name: invariant, text: `select * from (${sql}) found limit ${ROWS_MAX}` },
      [since],
    );
    for (const row of rows) {
      violations.push({
        promise,
        invariant,
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        subject: row.subject,
        subjectKind: row.subject_kind,
        detail: row.detail,
      });
    }
  }
  const [counted] = await database.query<{ checked: string }>(
    { name: 'count_checked', text: 'select count(*) as checked from tk.events where accepted_at >= $1' },
    [since],
  );
  return { checked: Number(counted?.checked ?? 0), violations };
}

interface FoundRow {
  readonly tenant_id: string;
  readonly lane_id: string;
  readonly subject: string;
  readonly subject_kind: Violation['subjectKind'];
  readonly detail: string;
}

async function readInvariants(): Promise<{ invariant: string; promise: string; sql: string }[]> {
  const folder = new URL('../sql/invariants/', import.meta.url);
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

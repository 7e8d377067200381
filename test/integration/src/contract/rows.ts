import { Client } from 'pg';

/** Written by the ingress itself while nobody asks anything: its beat. */
const OWN_TABLES = new Set(['workers']);
/** Notes of use, which are no answer to a request: left out with the version of the row that they make. */
const NOTES: Readonly<Record<string, readonly string[]>> = { api_keys: ['last_used_at'] };

/** What is in the tables of a cluster in which nothing runs but an ingress. */
export class Rows implements AsyncDisposable {
  readonly #client: Client;
  #question = '';

  constructor(postgresUrl: string) {
    this.#client = new Client({ connectionString: postgresUrl });
  }

  async open(): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'tk'::regnamespace and relkind = 'r' order by 1",
    );
    this.#question = rows
      .map(({ name }) => name)
      .filter((name) => !OWN_TABLES.has(name))
      .map(digestOf)
      .join(' union all ');
  }

  /** By table: how many rows there are, and a digest of all of them with the transactions that wrote them. */
  async digests(): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.#client.query<{ name: string; digest: string }>({
      name: 'digests',
      text: this.#question,
    });
    return new Map(rows.map(({ name, digest }) => [name, digest]));
  }

  /**
   * The next transaction that writes anything, in any database of the server, gets this number: while it stays, nothing
   * was written, which is cheaper to ask than what was.
   */
  async nextWrite(): Promise<string> {
    const { rows } = await this.#client.query<{ next: string }>(
      'select pg_snapshot_xmax(pg_current_snapshot())::text as next',
    );
    return rows[0]?.next ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}

function digestOf(table: string): string {
  const notes = NOTES[table];
  const version = notes === undefined ? 't.xmin::text' : "''";
  const row = `(to_jsonb(t) - array[${(notes ?? []).map((name) => `'${name}'`).join(', ')}]::text[])::text`;
  return `select '${table}' as name, count(*) || ' ' || coalesce(sum(hashtextextended(${row} || ${version}, 0)), 0) as digest from tk."${table}" t`;
}

/** Tells what was written since it was asked last. */
export class WriteWatch {
  readonly #rows: Rows;
  #next = '';
  #digests: ReadonlyMap<string, string> = new Map();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** The tables whose rows are not what they were at the last call. */
  async changedTables(): Promise<string[]> {
    const next = await this.#rows.nextWrite();
    if (next === this.#next) return [];
    const before = this.#digests;
    this.#next = next;
    this.#digests = await this.#rows.digests();
    return [...this.#digests].filter(([table, digest]) => before.get(table) !== digest).map(([table]) => table);
  }
}

import { type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

const TURNS = 200;
const THINK_MS = 10_000;
const POOL = 5;

let cluster: Cluster;
let database: pg.Client;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), env: { TURNKEEPER_ENGINE_POOL_MAX: String(POOL) } });
  database = new pg.Client({ connectionString: cluster.postgresUrl });
  await database.connect();
}, 180_000);
afterAll(async () => {
  await database.end();
  await cluster[Symbol.asyncDispose]();
}, 60_000);

interface Sample {
  readonly idleInTransactionMs: number;
  readonly healthMs: number;
}

async function sample(): Promise<Sample> {
  const startMs = performance.now();
  await database.query('select 1');
  const healthMs = performance.now() - startMs;
  const { rows } = await database.query<{ ms: number | null }>(
    `select max(extract(epoch from clock_timestamp() - state_change) * 1000)::float8 as ms from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`,
  );
  return { idleInTransactionMs: rows[0]?.ms ?? 0, healthMs };
}

test(`${TURNS} turns think over a pool of ${POOL}: no connection waits with them`, { timeout: 120_000 }, async () => {
  const agent = { name: 'slow', runtime: 'echo', echo: { delayMs: THINK_MS } };
  expect((await cluster.api('/v1/agents', { body: agent })).status).toBe(201);
  const send = (i: number) =>
    cluster.api('/v1/messages', { body: { agentId: 'slow', sessionKey: `s${i}`, text: 'hm' } });
  const accepted = await Promise.all(Array.from({ length: TURNS }, (_, i) => send(i)));
  expect(accepted.filter(({ status }) => status !== 202)).toEqual([]);
  await until(
    'all of them run',
    async () => (await cluster.metric('session-worker', 'turnkeeper_turns_running')) === TURNS,
  );

  const samples: Sample[] = [];
  const finished = async () => (await cluster.metric('session-worker', 'turnkeeper_turns_total')) >= TURNS;
  await until(
    'all of them end',
    async () => {
      samples.push(await sample());
      return finished();
    },
    60_000,
  );

  expect(samples.length).toBeGreaterThan(20);
  expect(Math.max(...samples.map(({ idleInTransactionMs }) => idleInTransactionMs))).toBeLessThan(100);
  const { rows } = await database.query<{ connections: number }>(
    "select count(*)::int as connections from pg_stat_activity where application_name like '%worker%' and datname = current_database()",
  );
  // engine, and the small pools for reading configuration
  expect(rows[0]?.connections).toBeLessThanOrEqual(POOL + 8);
  const worst = Math.max(...samples.map(({ healthMs }) => healthMs));
  process.stdout.write(`slowest of ${samples.length} health queries: ${worst.toFixed(1)} ms\n`);
});

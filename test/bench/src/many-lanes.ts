import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Figures, type Ground, openGround, startServices } from './ground.ts';
import { inParallel } from './in-parallel.ts';
import { openLayerLoad } from './layer-load.ts';
import { residentByNode } from './memory.ts';

const LANES = 1_000;
const PER_LANE = 20;
const FILL_STEP = 100_000;
const PAUSE_MS = 15_000;
const TENANT_CALLS = 8;

/** The cost of a message before and after the database was filled with lanes that nobody uses. */
export interface ManyLanesFigures {
  readonly idleLanes: number;
  readonly oldMessages: number;
  readonly fillSeconds: number;
  readonly database: Database;
  readonly empty: readonly Figures[];
  readonly filled: readonly Figures[];
  /** Keys in Redis once all lanes of the load were idle. */
  readonly redisKeys: { readonly before: number; readonly after: number };
}

/** Fills by statements of the server's user: one old turn for each 2 messages, all settled long ago. */
export async function measureManyLanes(idleLanes: number, rounds: number): Promise<ManyLanesFigures> {
  const services = await startServices();
  const redis = new Redis(services.urls.redis);
  try {
    await using ground = await openGround(services);
    await using layer = await openLayerLoad(ground);
    const run = async () => {
      const runs: Figures[] = [];
      for (let round = 0; round < rounds; round++) {
        runs.push(await ground.measure(LANES * PER_LANE, () => layer.send(LANES, LANES * PER_LANE)));
      }
      return runs;
    };
    const before = await redis.dbsize();
    await ground.measure(2_000, () => layer.send(200, 2_000));
    const empty = await run();
    const startMs = performance.now();
    const database = await fill(ground, idleLanes);
    const fillSeconds = Math.round((performance.now() - startMs) / 1000);
    const filled = await run();
    // locks of lanes that became idle end by themselves
    await sleep(PAUSE_MS);
    const after = await redis.dbsize();
    const oldMessages = idleLanes * 5;
    return { idleLanes, oldMessages, fillSeconds, database, empty, filled, redisKeys: { before, after } };
  } finally {
    redis.disconnect();
    await services.stop();
  }
}

/** What the rows cost on disk, indexes included, and how many connections each service holds. */
interface Database {
  readonly megabytes: number;
  /** Of a conversation and its session. */
  readonly bytesPerLane: number;
  /** Of a message that came in, its turn, and two thirds of an answer. */
  readonly bytesPerMessage: number;
  readonly connections: Readonly<Record<string, number>>;
}

async function fill(ground: Ground, lanes: number): Promise<Database> {
  const client = new pg.Client({ connectionString: ground.cluster.postgresUrl });
  await client.connect();
  try {
    // neither triggers nor foreign keys for rows that were checked when they were made
    await client.query('set session_replication_role = replica');
    for (let from = 0; from < lanes; from += FILL_STEP) {
      await client.query(FILL, [from, Math.min(from + FILL_STEP, lanes) - 1]);
    }
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
    return await weigh(client, lanes);
  } finally {
    await client.end();
  }
}

async function weigh(client: pg.Client, lanes: number): Promise<Database> {
  const { rows } = await client.query<{ total: number; of_lanes: number; of_messages: number }>(
    `select pg_database_size(current_database())::float8 as total,
            (pg_total_relation_size('tk.lanes') + pg_total_relation_size('tk.sessions'))::float8 as of_lanes,
            (pg_total_relation_size('tk.events') + pg_total_relation_size('tk.turns')
             + pg_total_relation_size('tk.messages'))::float8 as of_messages`,
  );
  const held = await client.query<{ name: string; count: number }>(
    `select application_name as name, count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name like 'turnkeeper%' group by 1 order by 1`,
  );
  const [sizes] = rows;
  return {
    megabytes: Math.round((sizes?.total ?? 0) / 2 ** 20),
    bytesPerLane: Math.round((sizes?.of_lanes ?? 0) / lanes),
    bytesPerMessage: Math.round((sizes?.of_messages ?? 0) / (lanes * 3)),
    connections: Object.fromEntries(held.rows.map(({ name, count }) => [name, count])),
  };
}

/** Five messages a lane: three came in, two went out. Ids grow as those of the product do, so that indexes fill alike. */
const FILL = `
  with agent as (select tenant_id, id from tk.agents where name = 'main' limit 1),
  old as materialized (
    select (('x' || substr(md5('lane' || n), 1, 4))::bit(16)::int % 4096)::smallint as slot, a.tenant_id, a.id as agent_id,
           md5('lane' || n)::uuid as lane_id, md5('session' || n)::uuid as session_id, n,
           now() - interval '20 days' + n * interval '1 second' as at
      from agent a, generate_series($1::int, $2::int) n
  ), lanes as (
    insert into tk.lanes (slot, tenant_id, id, agent_id, key, session_id, fence, seq, last_activity_at, created_at)
    select slot, tenant_id, lane_id, agent_id, 'old-' || n, session_id, 3, 8, at, at from old
  ), sessions as (
    insert into tk.sessions (slot, tenant_id, id, lane_id, created_at) select slot, tenant_id, session_id, lane_id, at from old
  ), events as (
    insert into tk.events (slot, tenant_id, lane_id, id, state, turn_id, session_id, seq, end_seq, body, accepted_at, started_at, settled_at)
    select slot, tenant_id, lane_id, md5('event' || n || '-' || k)::uuid, 10, md5('turn' || n || '-' || k)::uuid, session_id, k * 2 - 1, k * 2,
           jsonb_build_object('text', repeat('what people wrote some time ago. ', 4)), at, at, at
      from old, generate_series(1, 3) k
  ), turns as (
    insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, agent_id, session_id, ords, event_ids, seq, end_seq, started_at, ended_at)
    select slot, tenant_id, lane_id, md5('turn' || n || '-' || k)::uuid, k, lane_id, 10, agent_id, session_id, '{1}',
           array[md5('event' || n || '-' || k)::uuid], k * 2 - 1, k * 2, at, at
      from old, generate_series(1, 3) k
  )
  insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, fence, role, body, started_at, at)
  select slot, tenant_id, lane_id, k * 2, 0, md5('message' || n || '-' || k)::uuid, session_id, md5('turn' || n || '-' || k)::uuid, k,
         'assistant', jsonb_build_object('text', repeat('what was answered some time ago. ', 4)), at, at
    from old, generate_series(1, 2) k`;

/** What a cluster of one of each service holds in memory before and after that many tenants were made. */
export interface ManyTenantsFigures {
  readonly tenants: number;
  readonly seconds: number;
  readonly megabytes: Readonly<Record<string, { readonly before: number; readonly after: number }>>;
}

/** Each tenant with an agent and a key, applied through the operator's door; all idle. */
export async function measureManyTenants(tenants: number): Promise<ManyTenantsFigures> {
  await using ground = await openGround();
  const { cluster } = ground;
  const before = await residentByNode(cluster);
  const startMs = performance.now();
  await inParallel(tenants, TENANT_CALLS, (i) =>
    cluster.putTenant({ name: `tenant-${i}`, agents: [{ name: 'main', runtime: 'echo' }] }),
  );
  const seconds = Math.round((performance.now() - startMs) / 1000);
  await sleep(PAUSE_MS);
  const after = await residentByNode(cluster);
  const megabytes = Object.fromEntries(
    Object.keys(before).map((name) => [name, { before: before[name] ?? 0, after: after[name] ?? 0 }]),
  );
  return { tenants, seconds, megabytes };
}

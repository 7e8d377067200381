import { randomBytes } from 'node:crypto';
import { type EventId, parseId } from '@turnkeeper/core';
import { until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { Pool } from 'undici';
import type { Ground } from '../ground.ts';
import { httpLoad } from '../http-load.ts';
import { type LayerLoad, openLayerLoad } from '../layer-load.ts';
import { sendClosed, sendOpen } from './sending.ts';
import { nowMs, type Outcome, type Spread, spread, type Workload } from './workload.ts';

/** Through its door, or from the use case behind all doors on: what is like the peers, whose calls are in process, too. */
export type Part = 'layer' | 'http';

const CONNECTIONS = 64;
const TEXT = 'a message of a benchmark, about as long as what people write. '.repeat(3);
const SETTLED_MS = 60_000;
const BESIDE_GRACE_MS = 5_000;
/** Echo agents by how long they take, in milliseconds. */
const AGENTS = new Map([
  [0, 'main'],
  [5, 'five'],
]);

/** Turnkeeper on a ground of its own; one worker, as the peers have. */
export interface Measured extends AsyncDisposable {
  measure(part: Part, load: Workload): Promise<Outcome>;
}

/** One accepted message: what the rows are asked for afterwards. */
interface Sent {
  readonly id: string;
  readonly dueMs: number;
}

export async function openTurnkeeper(ground: Ground): Promise<Measured> {
  const { cluster } = ground;
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [...AGENTS].map(([delayMs, name]) => ({ name, runtime: 'echo', echo: { delayMs, fail: 0 } })),
  });
  const layer = await openLayerLoad(ground);
  const pool = new Pool(cluster.ingress[0]?.url ?? '', { connections: CONNECTIONS });
  const client = new pg.Client({ connectionString: cluster.postgresUrl });
  await client.connect();
  const doors: Record<Part, LayerLoad['accept']> = {
    layer: layer.accept,
    http: (agent, sessionKey, text) => post(pool, cluster.apiKey, { agentId: agent, sessionKey, text }),
  };
  return {
    async measure(part, load) {
      if (part === 'http' && load.pace.kind === 'closed' && load.handlerMs === 0)
        return throughWrk(ground, client, load);
      return throughDoor(doors[part], client, load);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([pool.close(), client.end(), layer[Symbol.asyncDispose]()]);
    },
  };
}

/** The peak through HTTP is sent by wrk: a client in this runtime would cost as much as the server. */
async function throughWrk(ground: Ground, client: pg.Client, load: Workload): Promise<Outcome> {
  const since = await databaseNow(client);
  const { messagesPerSecond } = await ground.measure(load.messages, () =>
    httpLoad(ground.cluster, load.lanes, load.messages),
  );
  return { perSecond: messagesPerSecond, accept: null, start: null, missing: 0, ...(await faultsSince(client, since)) };
}

async function throughDoor(accept: LayerLoad['accept'], client: pg.Client, load: Workload): Promise<Outcome> {
  const since = await databaseNow(client);
  const run = randomBytes(4).toString('hex');
  const agent = AGENTS.get(load.handlerMs) ?? 'main';
  const send = async (lane: number, dueMs: number): Promise<Sent> => {
    const id = await accept(agent, `peers-${run}-${lane}`, TEXT);
    return { id, dueMs };
  };
  const { pace, lanes, messages } = load;
  const stored = pace.kind === 'beside' ? pace.backlog : pace.kind === 'hot' ? messages : 0;
  const startMs = nowMs();
  const hot = await Promise.all(Array.from({ length: stored }, () => send(lanes, nowMs())));
  const counted = pace.kind === 'hot' ? hot : [];
  const sendOne = async (i: number, dueMs: number) => void counted.push(await send(i % lanes, dueMs));
  let took: readonly number[] = [];
  if (pace.kind === 'closed') {
    took = await sendClosed({ lanes, messages, outstanding: pace.outstanding }, sendOne);
  } else if (pace.kind !== 'hot') {
    took = await sendOpen({ lanes, messages, perSecond: pace.perSecond }, sendOne);
  }
  const untilMs = pace.kind === 'beside' ? BESIDE_GRACE_MS : SETTLED_MS;
  const starts = await startsOf(client, counted, untilMs);
  const firstMs = pace.kind === 'hot' ? Math.min(...starts.values()) : startMs;
  const lastMs = Math.max(...starts.values());
  return {
    perSecond: (starts.size * 1000) / (lastMs - firstMs),
    accept: spread(took),
    start: pace.kind === 'hot' ? null : delaysOf(counted, starts),
    missing: counted.length - starts.size,
    ...(await faultsSince(client, since)),
  };
}

async function post(pool: Pool, key: string, body: object): ReturnType<LayerLoad['accept']> {
  const answer = await pool.request({
    path: '/v1/messages',
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const accepted = (await answer.body.json()) as { eventId: string };
  if (answer.statusCode !== 202) throw new Error(`${answer.statusCode}: ${JSON.stringify(accepted)}`);
  const id = parseId<EventId>(accepted.eventId, 'evt');
  if (id === null) throw new Error(`no event id: ${accepted.eventId}`);
  return id;
}

function delaysOf(sent: readonly Sent[], starts: ReadonlyMap<string, number>): Spread | null {
  return spread(
    sent.flatMap(({ id, dueMs }) => {
      const startedMs = starts.get(id);
      return startedMs === undefined ? [] : [startedMs - dueMs];
    }),
  );
}

/** When the turns of these began, on the monotonic clock of this machine, whose database it is; waits until all have. */
async function startsOf(client: pg.Client, sent: readonly Sent[], untilMs: number): Promise<Map<string, number>> {
  const offsetMs = nowMs() - Date.now();
  const ids = sent.map(({ id }) => id);
  let starts = new Map<string, number>();
  const read = async () => {
    const { rows } = await client.query<{ id: string; ms: number }>(
      `select id, extract(epoch from started_at)::double precision * 1000 as ms
         from tk.events where id = any($1) and started_at is not null and state >= 10`,
      [ids],
    );
    starts = new Map(rows.map(({ id, ms }) => [id, ms + offsetMs]));
    return starts.size >= ids.length;
  };
  // what is missing in the end is counted, not thrown
  await until('every message was handled', read, untilMs).catch(() => undefined);
  return starts;
}

async function databaseNow(client: pg.Client): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
  return rows[0]?.now ?? new Date();
}

/** What the rows say of order, duplicates and overlap since then. */
async function faultsSince(
  client: pg.Client,
  since: Date,
): Promise<Pick<Outcome, 'duplicates' | 'outOfOrder' | 'overlapping'>> {
  const { rows } = await client.query<{ duplicates: number; out_of_order: number; overlapping: number }>(
    `with recent as (
       select lane_id, event_ids, ords[1] as ord, seq, started_at, ended_at from tk.turns where started_at >= $1
     ), ordered as (
       select lag(ended_at) over lane > started_at as early, lag(ord) over lane > ord as behind
         from recent window lane as (partition by lane_id order by seq)
     )
     select (select count(*) filter (where early) from ordered)::int as overlapping,
            (select count(*) filter (where behind) from ordered)::int as out_of_order,
            (select count(*) - count(distinct id) from recent, unnest(event_ids) id)::int as duplicates`,
    [since],
  );
  const [row] = rows;
  return { duplicates: row?.duplicates ?? 0, outOfOrder: row?.out_of_order ?? 0, overlapping: row?.overlapping ?? 0 };
}

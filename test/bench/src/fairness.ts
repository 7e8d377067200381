import pg from 'pg';
import { type Ground, openGround } from './ground.ts';
import { inParallel } from './in-parallel.ts';
import { type Latencies, latenciesOf, sendSteadily } from './latencies.ts';
import { type LayerLoad, openLayerLoad } from './layer-load.ts';

const PER_SECOND = 10;
const LANES_OF_FEW = 20;
const ACCEPTS_AT_ONCE = 1_000;
const SETTLE_MS = 120_000;
/** Of a flood that is worked off as fast as the cores go; one whose agent takes its time is in the queue as a whole. */
const AHEAD_SHARE = 0.2;
const AGENT_MS = 500;

/** What a tenant of few messages waits beside one that floods the cluster. */
export interface FairnessFigures {
  readonly workers: number;
  readonly flood: 'none' | 'many lanes' | 'one lane';
  /** What a turn of the flood takes; 0: nothing, so that the flood takes all cores. */
  readonly agentMs: number;
  /** Events of the flood still queued when the last message of the few was sent; zero would prove nothing. */
  readonly queuedAtEnd: number;
  readonly few: Latencies;
}

/** Idle, beside a flood over many lanes and beside one hot lane, with one worker and with two; at last beside one that takes all cores. */
export async function measureFairness(flood: number, seconds: number): Promise<FairnessFigures[]> {
  const figures: FairnessFigures[] = [];
  for (const workers of [1, 2]) {
    for (const kind of ['none', 'many lanes', 'one lane'] as const) {
      figures.push(await measureOne({ workers, kind, agentMs: kind === 'none' ? 0 : AGENT_MS, flood, seconds }));
    }
    figures.push(await measureOne({ workers, kind: 'many lanes', agentMs: 0, flood, seconds }));
  }
  return figures;
}

interface One {
  readonly workers: number;
  readonly kind: FairnessFigures['flood'];
  readonly agentMs: number;
  readonly flood: number;
  readonly seconds: number;
}

/** On services of its own: what is left of a flood would be met by whoever comes next. */
async function measureOne({ workers, kind, agentMs, flood, seconds }: One): Promise<FairnessFigures> {
  await using ground = await openGround();
  const client = new pg.Client({ connectionString: ground.cluster.postgresUrl });
  await client.connect();
  try {
    await putTenants(ground, { flood, agentMs });
    while (ground.cluster.workers.length < workers) await ground.cluster.add('session-worker');
    await using many = await openLayerLoad(ground);
    await using few = await openLayerLoad(ground, 'few');
    await sendSteadily({ perSecond: PER_SECOND, seconds: 5 }, (i) => few.accept('main', `warm-${i}`, 'hello'));
    if (kind !== 'none') await beginFlood(many, { kind, agentMs, flood });
    const sent = await sendSteadily({ perSecond: PER_SECOND, seconds }, (i) =>
      few.accept('main', `few-${i % LANES_OF_FEW}`, 'is anybody there?'),
    );
    const queuedAtEnd = await queued(client);
    return { workers, flood: kind, agentMs, queuedAtEnd, few: await latenciesOf(client, sent, SETTLE_MS) };
  } finally {
    await client.end();
  }
}

async function putTenants({ cluster }: Ground, { flood, agentMs }: Pick<One, 'flood' | 'agentMs'>): Promise<void> {
  const agents = [{ name: 'main', runtime: 'echo', ...(agentMs > 0 && { echo: { delayMs: agentMs, fail: 0 } }) }];
  const limits = { queuedPerLane: flood + 1, queuedPerTenant: flood * 2 };
  await cluster.putTenant({ name: 'test', key: cluster.apiKey, limits, agents });
  await cluster.putTenant({ name: 'few', agents: [{ name: 'main', runtime: 'echo' }] });
}

/** Resolves when the first part stands in the queue; the rest goes on coming, and what is left at the end is nobody's loss. */
async function beginFlood(many: LayerLoad, { kind, agentMs, flood }: Omit<One, 'workers' | 'seconds'>): Promise<void> {
  const lanes = kind === 'one lane' ? 1 : Math.ceil(flood / 10);
  let accepted = 0;
  const share = agentMs > 0 ? 1 : AHEAD_SHARE;
  const ahead = Promise.withResolvers<void>();
  const all = inParallel(flood, ACCEPTS_AT_ONCE, async (i) => {
    await many.accept('main', `flood-${i % lanes}`, 'one of very many');
    if (++accepted >= flood * share) ahead.resolve();
  });
  all.catch(ahead.reject);
  await ahead.promise;
}

async function queued(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from tk.events e join tk.tenants t on t.id = e.tenant_id where e.state < 10 and t.name = 'test'`,
  );
  return rows[0]?.count ?? 0;
}

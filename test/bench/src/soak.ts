import pg from 'pg';
import { openGround } from './ground.ts';
import { type Latencies, latenciesOf, sendSteadily } from './latencies.ts';
import { openLayerLoad } from './layer-load.ts';
import { residentByNode } from './memory.ts';

const LANES = 2_000;
const PERIOD_SECONDS = 60;
const SETTLE_MS = 60_000;

/** One minute of a long run. */
export interface SoakMinute {
  readonly latencies: Latencies;
  readonly megabytes: Readonly<Record<string, number>>;
  /** On disk, indexes included, for each message that this minute brought: what is kept is kept, the rest must not grow. */
  readonly bytesPerMessage: Readonly<Record<string, number>>;
}

export interface SoakFigures {
  readonly perSecond: number;
  readonly minutes: readonly SoakMinute[];
}

/** A steady load for so many minutes on conversations that go on: memory, latencies and tables must stay as they are. */
export async function measureSoak(perSecond: number, minutes: number): Promise<SoakFigures> {
  await using ground = await openGround();
  const client = new pg.Client({ connectionString: ground.cluster.postgresUrl });
  await client.connect();
  try {
    await using layer = await openLayerLoad(ground);
    const all: SoakMinute[] = [];
    let before = await tableBytes(client);
    for (let minute = 0; minute < minutes; minute++) {
      const sent = await sendSteadily({ perSecond, seconds: PERIOD_SECONDS }, (i) =>
        layer.accept('main', `soak-${i % LANES}`, 'a message of a long run, as long as people write'),
      );
      const latencies = await latenciesOf(client, sent, SETTLE_MS);
      const now = await tableBytes(client);
      const grown = Object.entries(now).map(([table, bytes]) => [
        table,
        Math.round((bytes - (before[table] ?? 0)) / sent.length),
      ]);
      before = now;
      all.push({
        latencies,
        megabytes: await residentByNode(ground.cluster),
        bytesPerMessage: Object.fromEntries(grown),
      });
      process.stderr.write(`minute ${minute + 1}: ${JSON.stringify(all.at(-1))}\n`);
    }
    return { perSecond, minutes: all };
  } finally {
    await client.end();
  }
}

async function tableBytes(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `select relname as name, pg_total_relation_size(relid)::double precision as bytes
       from pg_stat_user_tables where relname in ('lanes', 'sessions', 'events', 'turns', 'messages', 'dedupe_keys', 'lane_marks')`,
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

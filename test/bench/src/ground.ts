import { availableParallelism } from 'node:os';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { cpuSeconds } from './cpu.ts';
import { readSettings, type Settings } from './settings.ts';

/** Services with production settings and a cluster of one ingress, one worker, one coordinator: what is measured. */
export interface Ground extends AsyncDisposable {
  readonly urls: { readonly postgres: string; readonly redis: string; readonly nats: string };
  readonly cluster: Cluster;
  readonly settings: Settings;
  /** Runs `load` until every event of it is settled. */
  measure(messages: number, load: () => Promise<void>): Promise<Figures>;
}

export interface Figures {
  readonly messagesPerSecond: number;
  /** All statements of the database in that time, heartbeats and scans included. */
  readonly statementsPerMessage: number;
  /** Where the server spent its time: the dearest statements, microseconds per message. */
  readonly dearest: readonly { readonly statement: string; readonly calls: number; readonly micros: number }[];
  /** CPU of each part, microseconds per message. */
  readonly cpuMicros: Readonly<Record<string, number>>;
}

/** Postgres, Redis and NATS, sized for work, for whoever is measured. */
export async function startServices(): Promise<LocalServices> {
  const need = ['postgres', 'redis', 'nats'] as const;
  const services = await startLocalServices({ need, persistent: true, env: {}, prefer: 'program' });
  await ageLog(services.urls.postgres);
  return services;
}

const LOG_CALLS = 6;

/**
 * A server that has run for a while writes its log into files that it has written before. A new one makes each file anew,
 * filled with zeros and synced, in the middle of somebody's commit: every 16 MB all wait for that.
 */
async function ageLog(postgresUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    await client.query(`alter system set min_wal_size = '2GB'`);
    await client.query('select pg_reload_conf()');
    for (let call = 0; call < LOG_CALLS; call++) {
      await client.query(
        `select count(pg_logical_emit_message(false, 'bench', repeat(md5(i::text), 32768))) from generate_series(1, 100) i`,
      );
    }
    // the second one finds the files of the first behind it, and keeps them for what comes
    for (let checkpoint = 0; checkpoint < 2; checkpoint++) {
      await client.query('checkpoint');
      await client.query('select pg_switch_wal()');
    }
  } finally {
    await client.end();
  }
}

/** On services of its own, which end with it, or on those given. */
export async function openGround(given?: LocalServices, env: Readonly<Record<string, string>> = {}): Promise<Ground> {
  const services = given ?? (await startServices());
  const cluster = await startCluster({ urls: services.urls, env: { TURNKEEPER_LOG_LEVEL: 'warn', ...env } });
  const client = new pg.Client({ connectionString: cluster.postgresUrl });
  const engine = new pg.Client({ connectionString: cluster.postgresUrl, options: '-c role=tk_engine' });
  await Promise.all([client.connect(), engine.connect()]);
  await client.query('create extension if not exists pg_stat_statements');
  const pidOf = (name: string) => services.processes.find((one) => one.name === name)?.pid ?? 0;
  const parts = (): Record<string, number> => ({
    postgres: cpuSeconds(pidOf('postgres'), true),
    redis: cpuSeconds(pidOf('redis')),
    nats: cpuSeconds(pidOf('nats')),
    ingress: cpuSeconds(cluster.ingress[0]?.pid ?? 0),
    worker: cpuSeconds(cluster.workers[0]?.pid ?? 0),
    coordinator: cpuSeconds(cluster.coordinators[0]?.pid ?? 0),
    generator: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
  });
  return {
    urls: services.urls,
    cluster,
    settings: await readSettings(engine, availableParallelism()),
    async measure(messages, load) {
      await client.query('select pg_stat_statements_reset()');
      const before = parts();
      const startMs = performance.now();
      await load();
      await until('every event is settled', () => isSettled(client), 120_000);
      const seconds = (performance.now() - startMs) / 1000;
      const after = parts();
      const cpuMicros = Object.fromEntries(
        Object.entries(after).map(([name, value]) => [
          name,
          Math.round(((value - (before[name] ?? 0)) * 1e6) / messages),
        ]),
      );
      return {
        messagesPerSecond: Math.round(messages / seconds),
        statementsPerMessage: (await statements(client)) / messages,
        dearest: await dearest(client, messages),
        cpuMicros,
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([client.end(), engine.end()]);
      await cluster[Symbol.asyncDispose]();
      if (given === undefined) await services.stop();
    },
  };
}

async function isSettled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ open: boolean }>(
    // through the index on open events: looking through all of them would be a good part of what is measured
    'select true as open from tk.events where state < 10 order by slot, tenant_id, lane_id, ord limit 1',
  );
  return rows[0] === undefined;
}

async function dearest(client: pg.Client, messages: number): Promise<Figures['dearest']> {
  const { rows } = await client.query<{ statement: string; calls: string; ms: number }>(
    `select left(regexp_replace(s.query, '\\s+', ' ', 'g'), 120) statement, s.calls, s.total_exec_time + s.total_plan_time ms
     from pg_stat_statements s join pg_roles r on r.oid = s.userid
     where s.dbid = (select oid from pg_database where datname = current_database()) and s.toplevel and r.rolname like 'tk\\_%'
     order by 3 desc limit 12`,
  );
  return rows.map(({ statement, calls, ms }) => ({
    ...{ statement, calls: Number(calls) },
    micros: Math.round((ms * 1000) / messages),
  }));
}

/** Calls of the services; what this program itself asks runs under the server's own user and is left out. */
async function statements(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ calls: string }>(
    `select coalesce(sum(s.calls), 0) as calls from pg_stat_statements s join pg_roles r on r.oid = s.userid
     where s.dbid = (select oid from pg_database where datname = current_database()) and s.toplevel and r.rolname like 'tk\\_%'`,
  );
  return Number(rows[0]?.calls ?? 0);
}

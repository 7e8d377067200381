import { Logger, makeWorkerUtils, run as runWorker } from 'graphile-worker';
import pg from 'pg';
import type { Message, Peer, Producer } from './peer.ts';

const logger = new Logger(() => () => undefined);
const POOL = 20;

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  // the library asks for listeners on the pool and on each of its connections
  const tell = (error: Error) => process.stderr.write(`graphile: ${error.message}\n`);
  pool.on('error', tell);
  pool.on('connect', (client) => client.on('error', tell));
  return pool;
}

export interface BulkProducer extends Producer {
  sendAll(messages: readonly Message[]): Promise<void>;
}

export async function bulkProducer(url: string): Promise<BulkProducer> {
  const pool = openPool(url);
  const jobs = await makeWorkerUtils({ pgPool: pool, logger });
  return {
    async send(message) {
      await jobs.addJob('turn', message, { queueName: message.key });
    },
    async sendAll(messages) {
      await jobs.addJobs(
        messages.map((message) => ({ identifier: 'turn' as const, payload: message, queueName: message.key })),
      );
    },
    async close() {
      await jobs.release();
      await pool.end();
    },
  };
}

export const peer: Peer = {
  settings: 'a queue per lane, local queue of 256, completions batched, a call for each message',
  durable: 'Postgres commit',
  async reset(at) {
    const jobs = await makeWorkerUtils({ connectionString: at.postgres, logger });
    await jobs.migrate();
    await jobs.release();
    const client = new pg.Client(at.postgres);
    await client.connect();
    await client.query('truncate graphile_worker._private_jobs, graphile_worker._private_job_queues');
    await client.end();
  },
  producer: (at) => bulkProducer(at.postgres),
  async worker(at, run, handle) {
    const pool = openPool(at.postgres);
    const worker = await runWorker({
      pgPool: pool,
      logger,
      noHandleSignals: true,
      taskList: { turn: (message) => handle(message as Message) },
      preset: {
        worker: {
          concurrentJobs: run.concurrency,
          pollInterval: 100,
          localQueue: { size: 256, refetchDelay: { durationMs: 50 } },
          completeJobBatchDelay: 0,
        },
      },
    });
    return { stop: () => worker.stop() };
  },
};

import { PgBoss } from 'pg-boss';
import type { Message, Peer } from './peer.ts';

const QUEUE = 'bench';

async function start(url: string, supervise: boolean): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, max: 20, schedule: false, supervise, useListenNotify: true });
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await boss.start();
  return boss;
}

export const peer: Peer = {
  settings: 'key_strict_fifo, a partition table, LISTEN/NOTIFY, batches of 256, bursts',
  durable: 'Postgres commit',
  async reset(at) {
    const boss = await start(at.postgres, false);
    if ((await boss.getQueue(QUEUE)) !== null) await boss.deleteQueue(QUEUE);
    await boss.createQueue(QUEUE, { policy: 'key_strict_fifo', notify: true, partition: true });
    await boss.stop({ graceful: false });
  },
  async producer(at) {
    const boss = await start(at.postgres, false);
    return {
      async send(message) {
        await boss.send(QUEUE, message, { singletonKey: message.key });
      },
      close: () => boss.stop({ graceful: false }),
    };
  },
  async worker(at, _run, handle) {
    const boss = await start(at.postgres, true);
    const options = { batchSize: 256, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    await boss.work<Message>(QUEUE, options, async (jobs) => {
      await Promise.all(jobs.map((job) => handle(job.data)));
    });
    return { stop: () => boss.stop({ graceful: false }) };
  },
};

import { Queue, Worker } from 'groupmq';
import { Redis } from 'ioredis';
import type { Message, Peer, Run } from './peer.ts';

const connect = (url: string) => new Redis(url, { maxRetriesPerRequest: null });

/** Its batching of sends can lose jobs in a crash, so it is off. */
function queueOf(url: string, run: Run): Queue<Message> {
  return new Queue<Message>({
    redis: connect(url),
    namespace: `bench${run.id}`,
    jobTimeoutMs: 30_000,
    keepCompleted: 0,
    keepFailed: 0,
  });
}

export const peer: Peer = {
  settings: 'a group per lane, no batching of sends',
  durable: 'Redis, AOF every second: up to a second may be lost with the power',
  async reset(at) {
    const redis = connect(at.redis);
    await redis.flushall();
    redis.disconnect();
  },
  producer(at, run) {
    const queue = queueOf(at.redis, run);
    return Promise.resolve({
      send: async (message: Message) => {
        await queue.add({ groupId: message.key, data: message });
      },
      close: () => queue.close(),
    });
  },
  worker(at, run, handle) {
    const worker = new Worker<Message>({
      queue: queueOf(at.redis, run),
      concurrency: run.concurrency,
      handler: (job) => handle(job.data),
      onError: (error) => process.stderr.write(`groupmq: ${String(error)}\n`),
    });
    void worker.run();
    return Promise.resolve({ stop: () => worker.close(500) });
  },
};

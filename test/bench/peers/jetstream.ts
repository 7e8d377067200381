import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Message, Peer } from './peer.ts';

const PARTITIONS = 64;
const PREFETCH = 32;
const STREAM = 'BENCH';
const ACK_WAIT_NS = 30_000_000_000;

/** FNV-1a. */
function partitionOf(key: string): number {
  let hash = 0x811c9dc5;
  for (const char of key) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % PARTITIONS;
}

/** Handles one after another, in the order of the pushes. */
function serial<T>(handle: (item: T) => Promise<void>): (item: T) => void {
  const queue: T[] = [];
  let busy = false;
  const drain = async () => {
    busy = true;
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await handle(item);
    busy = false;
  };
  return (item) => {
    queue.push(item);
    if (!busy) void drain();
  };
}

export const peer: Peer = {
  settings: `a work queue on file, ${PARTITIONS} subjects, ${PREFETCH} fetched ahead for each, handled one after another`,
  durable: 'file store, not flushed before the acknowledgement: what two minutes bring may be lost with the power',
  async reset(at) {
    const connection = await connect({ servers: at.jetstream });
    const manager = await jetstreamManager(connection);
    const names = await manager.streams.names().next();
    if (names.includes(STREAM)) await manager.streams.delete(STREAM);
    await manager.streams.add({ name: STREAM, subjects: ['bench.*'], retention: 'workqueue', storage: 'file' });
    await connection.close();
  },
  async producer(at) {
    const connection = await connect({ servers: at.jetstream });
    const stream = jetstream(connection);
    return {
      async send(message) {
        await stream.publish(`bench.${partitionOf(message.key)}`, JSON.stringify(message));
      },
      close: () => connection.close(),
    };
  },
  async worker(at, _run, handle) {
    const connection = await connect({ servers: at.jetstream });
    const manager = await jetstreamManager(connection);
    const stream = jetstream(connection);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await manager.consumers.add(STREAM, {
        durable_name: `p${partition}`,
        filter_subject: `bench.${partition}`,
        ack_policy: 'explicit',
        max_ack_pending: PREFETCH,
        ack_wait: ACK_WAIT_NS,
      });
      const consumer = await stream.consumers.get(STREAM, `p${partition}`);
      type Received = { json<T>(): T; ack(): void };
      const one = serial(async (received: Received) => {
        await handle(received.json<Message>());
        received.ack();
      });
      await consumer.consume({ max_messages: PREFETCH, callback: one });
    }
    return { stop: () => connection.close() };
  },
};

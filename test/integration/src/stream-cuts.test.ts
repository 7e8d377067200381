/**
 * Three turns, read in pieces: cut after every few events and in mid-delta, gone on with at the other ingress, with the
 * bus dropped in half of the runs and a worker killed in some. Whatever happens on the way, each durable event comes once.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readSse, type SseEvent } from './sse-reader.ts';

const TEXTS = ['one two three four five six', 'seven eight nine ten', 'eleven twelve thirteen fourteen fifteen'];
const CONNECTIONS_MAX = 200;

let relay: Awaited<ReturnType<typeof relayTo>>;
let cluster: Cluster;

beforeAll(async () => {
  const urls = inject('urls');
  relay = await relayTo(new URL(urls.nats));
  cluster = await startCluster({ urls: { ...urls, nats: relay.url }, ingress: 2, workers: 2, coordinators: 1 });
  const agents = [{ name: 'main', runtime: 'echo', echo: { wordMs: 250 } }];
  await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents });
}, 180_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await relay?.close();
});

test.each([
  { natsDrops: false, workerDies: false },
  { natsDrops: true, workerDies: false },
  { natsDrops: false, workerDies: true },
  { natsDrops: true, workerDies: true },
])(
  'three turns in pieces, the bus dropped: $natsDrops, a worker killed: $workerDies',
  async (faults) => {
    const key = randomUUID();
    const runs: string[] = [];
    for (const text of TEXTS)
      runs.push((await cluster.api('/v1/messages', { body: { sessionKey: key, text } })).json.runId);
    const strikes: Promise<unknown>[] = [];
    const durable: SseEvent[] = [];
    for (let n = 0; !isWhole(durable); n++) {
      expect(n).toBeLessThan(CONNECTIONS_MAX);
      if (n === 1 && faults.natsDrops) relay.drop();
      if (n === 1 && faults.workerDies) strikes.push(killAndRestart());
      const piece = await readPiece(key, n, durable);
      durable.push(...piece.filter(({ seq }) => seq !== undefined));
    }
    relay.restore();
    await Promise.all(strikes);
    for (const runId of runs) {
      await until(
        'the run has ended',
        async () => (await cluster.api(`/v1/runs/${runId}`)).json.status === 'ok',
        90_000,
      );
    }
    const replayed = await readSse(source(key, '0', 1), (all) => all.at(-1)?.type === 'stream.replayed').events;
    const whole = replayed.filter(({ seq }) => seq !== undefined);
    expect(durable.map(nameOf)).toEqual(whole.map(nameOf));
    expect(new Set(durable.map(nameOf)).size).toBe(durable.length);
    const said = durable.filter(({ type, data }) => type === 'message.created' && data['role'] === 'assistant');
    expect(said.map(({ data }) => data['text'])).toEqual(TEXTS);
  },
  240_000,
);

const source = (key: string, after: string, node: number) => ({
  url: `${cluster.ingress[node]?.url}/v1/sessions/~${Buffer.from(key).toString('base64url')}/events`,
  key: cluster.apiKey,
  after,
});

/** From one node, then from the other: after one durable event, after two, or in mid-delta, if any comes. */
function readPiece(key: string, n: number, before: readonly SseEvent[]): Promise<SseEvent[]> {
  const isEnough = (events: readonly SseEvent[]) => {
    const durable = events.filter(({ seq }) => seq !== undefined);
    const isCut = n % 3 === 2 ? events.at(-1)?.type === 'message.delta' : durable.length > n % 3;
    return isCut || isWhole([...before, ...durable]);
  };
  return readSse(source(key, before.at(-1)?.id ?? '0', n % 2), isEnough).events;
}

/** The last event of the turn that brought the last answer. */
function isWhole(durable: readonly SseEvent[]): boolean {
  return (
    durable.filter(({ type, data }) => type === 'turn.finished' && data['status'] === 'ok').length === TEXTS.length
  );
}

/** A turn that was resumed shows its message under the turn that ended it: what makes an event the same is not its turn. */
function nameOf({ seq, type, data }: SseEvent): string {
  return `${seq} ${type} ${data['messageId'] ?? data['runId'] ?? ''}`;
}

async function killAndRestart(): Promise<void> {
  const [worker] = cluster.workers;
  worker?.signal('SIGKILL');
  await worker?.restart();
}

/** A way to a server that can be cut and barred. */
async function relayTo({ hostname, port }: URL) {
  const sockets = new Set<Socket>();
  let isBarred = false;
  const server = createServer((client) => {
    if (isBarred) return client.destroy();
    const target = connect(Number(port), hostname);
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target).pipe(client);
    return client;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    drop: () => {
      isBarred = true;
      cut();
    },
    restore: () => {
      isBarred = false;
    },
    close: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

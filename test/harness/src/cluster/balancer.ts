import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeProcess } from './node-process.ts';

/** One address in front of several ingress. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

const PROBE_EVERY_MS = 100;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * A load balancer as clusters have them: it passes connections on, in turn, to the nodes that say at `/readyz` that they are
 * ready, and tries the next one only where nobody listened. It knows nothing of requests.
 */
export async function startBalancer(nodes: readonly NodeProcess[]): Promise<Balancer> {
  const closing = new AbortController();
  const ready = new Set<NodeProcess>(nodes);
  const probing = Promise.all(nodes.map((node) => probe(node, ready, closing.signal)));
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const open = nodes.filter((node) => ready.has(node));
    const first = turn++;
    const order = open.map((_, i) => open[(first + i) % open.length]).filter((node) => node !== undefined);
    track(client, sockets);
    client.on('error', () => client.destroy());
    passOn(client, order, sockets);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      closing.abort();
      server.close();
      for (const socket of sockets) socket.destroy();
      await probing;
    },
  };
}

async function probe(node: NodeProcess, ready: Set<NodeProcess>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isReady = await fetch(`${node.internalUrl}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) ready.add(node);
    else ready.delete(node);
    await sleep(PROBE_EVERY_MS);
  }
}

function passOn(client: Socket, [node, ...others]: readonly NodeProcess[], sockets: Set<Socket>): void {
  if (node === undefined) {
    client.destroy();
    return;
  }
  const upstream = connect({ port: Number(new URL(node.url).port), host: '127.0.0.1', allowHalfOpen: true });
  track(upstream, sockets);
  let isThere = false;
  upstream.once('connect', () => {
    isThere = true;
    client.pipe(upstream).pipe(client);
  });
  client.once('close', () => upstream.destroy());
  upstream.on('error', () => {
    if (isThere) client.destroy();
    else passOn(client, others, sockets);
  });
  upstream.once('close', () => {
    if (isThere) client.end();
  });
}

function track(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
}

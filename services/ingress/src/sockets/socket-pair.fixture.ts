/** Both ends of a real socket: a `SocketLink` whose time a test moves, and its client. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@turnkeeper/core/testing';
import { WebSocket, WebSocketServer } from 'ws';
import type { Principal } from '../http/access.ts';
import { SocketLink } from './socket-link.ts';

interface Frame {
  readonly type: string;
  readonly [name: string]: unknown;
}

export interface SocketPair {
  readonly link: SocketLink;
  readonly server: WebSocket;
  readonly client: WebSocket;
  readonly frames: Frame[];
  /** The code that the client saw. */
  readonly closed: Promise<number>;
}

export const KEY_HOLDER = {
  kind: 'key',
  key: { scopes: [] },
  tenant: { tenantId: '1'.repeat(32) },
} as never as Principal;

export class SocketPairs implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly #server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  droppedCount = 0;

  async open(): Promise<SocketPair> {
    if (this.#server.address() === null) await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    const accepted = once(this.#server, 'connection') as Promise<[WebSocket]>;
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    const frames: Frame[] = [];
    client.on('message', (data) => frames.push(JSON.parse(String(data))));
    client.on('error', () => undefined);
    const closed = new Promise<number>((resolve) => client.on('close', resolve));
    const [[server]] = await Promise.all([accepted, once(client, 'open')]);
    const dropped = { inc: () => void this.droppedCount++ } as never;
    const link = new SocketLink(server, { id: String(port), clock: this.clock, dropped });
    return { link, server, client, frames, closed };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

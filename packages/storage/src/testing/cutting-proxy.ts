import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/**
 * Stands between a pool and Postgres, and loses answers: after `loseNextAnswer` the server gets the next statement and
 * does it, but its client's connection breaks before a byte of the answer arrives.
 */
export class CuttingProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #state: { armed: boolean; lost: number };

  private constructor(parts: {
    url: string;
    server: Server;
    sockets: Set<Socket>;
    state: { armed: boolean; lost: number };
  }) {
    this.url = parts.url;
    this.#server = parts.server;
    this.#sockets = parts.sockets;
    this.#state = parts.state;
  }

  static async open(target: string): Promise<CuttingProxy> {
    const to = new URL(target);
    const sockets = new Set<Socket>();
    const state = { armed: false, lost: 0 };
    const server = createServer((client) => {
      const upstream = dial(Number(to.port), to.hostname);
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
      }
      client.on('data', (data) => upstream.write(data)).on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
      upstream.on('data', (data) => {
        if (!state.armed) return void client.write(data);
        state.armed = false;
        state.lost++;
        client.destroy();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const url = new URL(target);
    url.port = String(address.port);
    return new CuttingProxy({ url: url.href, server, sockets, state });
  }

  loseNextAnswer(): void {
    this.#state.armed = true;
  }

  /** Answers lost so far. */
  get lost(): number {
    return this.#state.lost;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

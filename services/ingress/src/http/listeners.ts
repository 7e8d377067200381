import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@turnkeeper/core';
import type { FastifyInstance } from 'fastify';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Resolves with the port it got. */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<number> {
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo;
  return address.port;
}

const IDLE_CHECK_MS = 50;

/**
 * Takes no new connections, finishes the requests in flight, and closes each connection once it is idle (the server
 * itself would keep one that was busy at first for its keep-alive time). When the signal aborts, what is left is cut off.
 * Each look comes right after the loop has read its sockets (`nextTurn`): a connection whose request has arrived and was not
 * read yet looks idle, and one that was not accepted yet would be refused.
 */
export async function closeGently(app: FastifyInstance, clock: Clock, signal: AbortSignal): Promise<void> {
  let isClosed = false;
  await nextTurn();
  const closed = app.close().then(() => {
    isClosed = true;
  });
  while (!isClosed && !signal.aborted) {
    await nextTurn();
    app.server.closeIdleConnections();
    await Promise.race([closed, clock.sleep(IDLE_CHECK_MS, signal)]);
  }
  app.server.closeAllConnections();
  await closed;
}

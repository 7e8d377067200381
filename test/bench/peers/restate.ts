import { createServer, connect as http2Connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import * as restate from '@restatedev/restate-sdk';
import type { Addresses, Message, Peer, Producer } from './peer.ts';

const SESSIONS = 2;

// one line for each invocation otherwise
process.env['RESTATE_LOGGING'] ??= 'ERROR';

/** A virtual object keyed by the lane, behind HTTP/2 on any port; the server is told of it. */
async function serve(at: Addresses, handle: (message: Message) => Promise<void>): Promise<{ stop(): Promise<void> }> {
  const session = restate.object({
    name: 'session',
    handlers: {
      turn: async (_context: restate.ObjectContext, message: Message) => {
        await handle(message);
      },
    },
  });
  const server = createServer(restate.endpoint().bind(session).http2Handler());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`${at.restateAdmin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
    signal: AbortSignal.timeout(20_000),
  });
  if (!answer.ok) throw new Error(`restate registers: ${answer.status} ${await answer.text()}`);
  return {
    stop: () => {
      server.close();
      return Promise.resolve();
    },
  };
}

async function openProducer(at: Addresses): Promise<Producer> {
  const sessions = Array.from({ length: SESSIONS }, () => http2Connect(at.restateIngress));
  await Promise.all(
    sessions.map(
      (session) =>
        new Promise<void>((resolve, reject) => {
          session.once('connect', () => resolve());
          session.once('error', reject);
        }),
    ),
  );
  let next = 0;
  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        const request = sessions[next++ % SESSIONS]?.request({
          ':method': 'POST',
          ':path': `/session/${message.key}/turn/send`,
          'content-type': 'application/json',
        });
        if (request === undefined) return reject(new Error('no session'));
        let status = 0;
        request.on('response', (headers) => {
          status = Number(headers[':status']);
        });
        request.resume();
        request.on('end', () => (status < 300 ? resolve() : reject(new Error(`restate answers ${status}`))));
        request.on('error', reject);
        request.end(JSON.stringify(message));
      }),
    close: () => {
      for (const session of sessions) session.close();
      return Promise.resolve();
    },
  };
}

/** Its server starts anew before each run: invocations of a run that was stopped cannot be taken out otherwise. */
export const peer: Peer = {
  settings: 'a virtual object per lane, one server with its defaults, one-way sends over two HTTP/2 sessions',
  durable: 'its log, flushed by default',
  reset: () => Promise.resolve(),
  async producer(at, run) {
    // it takes messages only for services it has seen
    if (run.storedFirst) await (await serve(at, () => new Promise(() => undefined))).stop();
    return openProducer(at);
  },
  worker: (at, _run, handle) => serve(at, handle),
};

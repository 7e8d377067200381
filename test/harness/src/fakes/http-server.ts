import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeServer {
  readonly url: string;
  close(): Promise<void>;
}

/** A loopback HTTP server for fakes: whole bodies in, the handler writes the answer (or never does). */
export async function startFakeServer(
  handle: (request: FakeRequest, response: ServerResponse) => void | Promise<void>,
  port = 0,
): Promise<FakeServer> {
  const server = createServer((incoming, response) => {
    readBody(incoming)
      .then((body) =>
        handle(
          { method: incoming.method ?? 'GET', path: incoming.url ?? '/', headers: incoming.headers, body },
          response,
        ),
      )
      .catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
        response.end(String(error));
      });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new RangeError('body too large for a fake');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

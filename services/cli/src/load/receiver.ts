import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Arrival } from './judge.ts';

const BODY_BYTES_MAX = 1024 * 1024;

/** The signed POST of a webhook account (surface §3). Unknown fields are ignored: they may grow. */
const REPLY = z.object({
  deliveryId: z.string(),
  runId: z.string(),
  turnId: z.string(),
  sessionKey: z.string(),
  seq: z.coerce.number(),
  recovered: z.boolean(),
  startedAt: z.string(),
  finishedAt: z.string(),
});

export interface Receiver {
  readonly url: string;
  /** Valid arrivals, in order. */
  readonly arrivals: readonly Arrival[];
  /** POSTs refused: bad signature or body. */
  readonly malformed: number;
  close(): Promise<void>;
}

/**
 * Listens for the replies of a load run on `host` and keeps what arrives.
 * `onArrival` gets each one with its monotonic time in milliseconds.
 * @throws the error of `listen` when the address cannot be bound
 */
export async function startReceiver(
  host: string,
  secret: string,
  onArrival: (arrival: Arrival, atMs: number) => void,
): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const counts = { malformed: 0 };
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => {
        const arrival = isSigned(request, body, secret) ? parseReply(body) : null;
        if (arrival === null) {
          counts.malformed++;
          answer(response, 400);
          return;
        }
        arrivals.push(arrival);
        onArrival(arrival, performance.now());
        answer(response, 200);
      },
      () => answer(response, 413),
    );
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/in`,
    arrivals,
    get malformed() {
      return counts.malformed;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => resolve());
  });
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new RangeError('body too large');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Standard Webhooks: HMAC-SHA-256 over `id.timestamp.body`, any of several space-separated `v1,<base64>`. */
function isSigned(request: IncomingMessage, body: Buffer, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures } = request.headers;
  if (typeof id !== 'string' || typeof at !== 'string' || typeof signatures !== 'string') return false;
  const expected = createHmac('sha256', secret).update(`${id}.${at}.`).update(body).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function parseReply(body: Buffer): Arrival | null {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const parsed = REPLY.safeParse(json);
  if (!parsed.success) return null;
  const { sessionKey, startedAt, finishedAt, ...rest } = parsed.data;
  return { ...rest, lane: sessionKey, startedAtMs: Date.parse(startedAt), finishedAtMs: Date.parse(finishedAt) };
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-length': '0' });
  response.end();
}

import { createServer, type RequestListener } from 'node:http';
import type { Metrics } from '../telemetry/index.ts';
import type { Readiness } from './readiness.ts';

/** The internal listener of a service that serves nothing else: `/healthz`, `/readyz`, `/metrics`. */
export interface ProbeServer extends AsyncDisposable {
  /** Resolves with the port it got. */
  listen(at: { readonly host: string; readonly port: number }): Promise<number>;
}

export function createProbeServer(parts: { readonly metrics: Metrics; readonly readiness: Readiness }): ProbeServer {
  const server = createServer(answer(parts));
  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host, port }, () => {
          server.off('error', reject);
          const address = server.address();
          resolve(typeof address === 'object' && address !== null ? address.port : port);
        });
      }),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer({ metrics, readiness }: { metrics: Metrics; readiness: Readiness }): RequestListener {
  return (request, response) => {
    if (request.url === '/metrics') {
      metrics.text().then(
        (text) => response.setHeader('content-type', metrics.contentType).end(text),
        () => response.writeHead(500).end('the metrics cannot be read\n'),
      );
    } else if (request.url === '/healthz') {
      response.end('ok\n');
    } else if (request.url === '/readyz') {
      const { state } = readiness;
      response.writeHead(state === 'ready' ? 200 : 503).end(`${state}\n`);
    } else {
      response.writeHead(404).end('not found\n');
    }
  };
}

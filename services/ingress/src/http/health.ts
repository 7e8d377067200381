import type { Readiness } from '@turnkeeper/platform/process';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { openApiDocument } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';

/**
 * `/healthz`: the event loop turns. `/readyz`: started, not draining, and what is there to be done moves; the stores do not
 * matter here, because without Redis or NATS ingress works and without Postgres its honest answer is 503
 * `store_unavailable`.
 */
export function registerHealth(app: FastifyInstance, readiness: Pick<Readiness, 'state'>): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { state } = readiness;
    reply.code(state === 'ready' ? 200 : 503);
    return { status: state };
  });
}

/** `/openapi.json`: what this node answers. */
export function registerOpenApi(app: FastifyInstance): void {
  const document = openApiDocument();
  app.get('/openapi.json', async () => document);
}

export function registerMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.contentType);
    return metrics.text();
  });
}

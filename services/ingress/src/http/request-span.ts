import { type Traceparent, type Tracer, traced } from '@turnkeeper/core';
import type { FastifyRequest } from 'fastify';

/** W3C trace context, version 00; anything else is left out. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Works on a request inside a span that hangs under its caller's; `work` is given the context to hand on. */
export function inRequestSpan<T>(
  request: FastifyRequest,
  { tracer, name }: { readonly tracer: Tracer; readonly name: string },
  work: (traceparent: Traceparent | null) => Promise<T>,
): Promise<T> {
  const header = request.headers['traceparent'];
  const parent = typeof header === 'string' && TRACEPARENT.test(header) ? header : null;
  const span = tracer.start(name, { parent });
  return traced(span, () => work(span.traceparent));
}

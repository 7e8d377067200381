import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { traced } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { createTracer } from './tracer.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01';
const about = { service: 'test', version: '1', bootId: 'b' };

describe('spans', () => {
  it('hang under the context they are given, link to others, and tell a failure by its code alone', async () => {
    const spans: ReadableSpan[] = [];
    const exporter: SpanExporter = {
      export: (some, done) => {
        spans.push(...some);
        done({ code: 0 });
      },
      shutdown: async () => undefined,
    };
    const tracer = createTracer({ ...about, exporter });
    const turn = tracer.start('turn', { parent: PARENT, links: [null, OTHER] });
    const chat = tracer.start('chat m', { parent: turn.traceparent, startedAtMs: 1_000 });
    await expect(traced(chat, () => Promise.reject(new TypeError('a secret')))).rejects.toThrow('a secret');
    turn.end();
    await tracer[Symbol.asyncDispose]();

    const told = spans.map(({ name, parentSpanContext, links, startTime, attributes, status }) => ({
      ...{ name, parent: parentSpanContext?.spanId, links: links.map(({ context }) => context.spanId) },
      ...{ seconds: startTime[0], code: attributes['error.type'], says: status.message },
    }));
    expect(told).toEqual([
      {
        name: 'chat m',
        parent: turn.traceparent?.split('-')[2],
        links: [],
        seconds: 1,
        code: 'internal',
        says: undefined,
      },
      {
        name: 'turn',
        parent: 'b7ad6b7169203331',
        links: ['c7ad6b7169203331'],
        seconds: expect.any(Number),
        code: undefined,
      },
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([PARENT.split('-')[1]]));
    expect(JSON.stringify(told)).not.toContain('secret');
  });

  it('hand on the context of the parent when nobody collects', async () => {
    await using tracer = createTracer({ ...about, exporter: null });
    expect(tracer.start('turn', { parent: PARENT }).traceparent).toBe(PARENT);
    expect(tracer.start('turn').traceparent).toBe(null);
  });
});

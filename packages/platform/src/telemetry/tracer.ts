import { type Context, context, type Link, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { noTracer, type Tracer } from '@turnkeeper/core';

export interface TracerOptions {
  readonly service: string;
  readonly version: string;
  readonly bootId: string;
  /** Where spans go: OTLP over HTTP, or an exporter. Null: nowhere, and spans cost nothing. */
  readonly exporter: string | SpanExporter | null;
}

export interface ProcessTracer extends Tracer, AsyncDisposable {}

const EXPORT_TIMEOUT_MS = 2_000;
const QUEUE_MAX = 8_192;
const BATCH_MAX = 512;
const PERIOD_MS = 1_000;

/**
 * Spans over the OpenTelemetry API. Parents are given by hand as W3C trace contexts, because work goes from process to
 * process through rows and not through calls. Spans that find no room, or no collector, are dropped: nothing waits for them.
 */
export function createTracer(options: TracerOptions): ProcessTracer {
  const { exporter } = options;
  if (exporter === null) return { ...noTracer, [Symbol.asyncDispose]: async () => undefined };
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': `turnkeeper-${options.service}`,
      'service.version': options.version,
      'service.instance.id': options.bootId,
    }),
    spanProcessors: [
      new BatchSpanProcessor(
        typeof exporter === 'string'
          ? new OTLPTraceExporter({ url: exporter, timeoutMillis: EXPORT_TIMEOUT_MS })
          : exporter,
        {
          ...{ maxQueueSize: QUEUE_MAX, maxExportBatchSize: BATCH_MAX },
          ...{ scheduledDelayMillis: PERIOD_MS, exportTimeoutMillis: EXPORT_TIMEOUT_MS },
        },
      ),
    ],
  });
  const tracer = provider.getTracer('turnkeeper', options.version);
  return {
    start: (name, { parent, links = [], attributes, startedAtMs } = {}) => {
      const settings = {
        links: links.flatMap(linkOf),
        ...(attributes === undefined ? {} : { attributes }),
        ...(startedAtMs === undefined ? {} : { startTime: new Date(startedAtMs) }),
      };
      const span = tracer.startSpan(name, settings, contextOf(parent));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        isRecorded: true,
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end: (code) => {
          if (code !== undefined) {
            span.setAttribute('error.type', code);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    [Symbol.asyncDispose]: () => provider.shutdown(),
  };
}

function contextOf(parent: string | null | undefined): Context {
  const [link] = linkOf(parent);
  return link === undefined ? ROOT_CONTEXT : trace.setSpanContext(context.active(), link.context);
}

function linkOf(traceparent: string | null | undefined): Link[] {
  const [version, traceId, spanId, flags] = traceparent?.split('-') ?? [];
  if (version !== '00' || traceId === undefined || spanId === undefined || flags === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}

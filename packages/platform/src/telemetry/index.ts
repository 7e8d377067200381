export { createLogger, type LogLevel } from './logger.ts';
export { createMetrics, documentMetrics, type Metrics } from './metrics.ts';
export { storeGauges } from './store-gauges.ts';
export { createTracer, type ProcessTracer } from './tracer.ts';

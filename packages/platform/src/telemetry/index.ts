export type { CounterName, GaugeName, HistogramName, MetricName } from './catalogue.ts';
export { createLogger, type LoggerOptions, type LogLevel } from './logger.ts';
export { createMetrics, documentMetrics, type Metrics } from './metrics.ts';

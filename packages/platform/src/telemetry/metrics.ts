import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  CATALOGUE,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
} from './catalogue.ts';

type Labels<Name extends MetricName> = Readonly<Record<LabelsOf<Name>, string>>;

/** Counts and measures by the names of the catalogue; a metric shows up in `text()` once somebody asked for it. */
export interface Metrics {
  counter<Name extends CounterName>(name: Name): { inc(labels?: Labels<Name>, by?: number): void };
  /** `clear` takes all series of the gauge away: what is no longer measured must not stand there as it was. */
  gauge<Name extends GaugeName>(name: Name): { set(value: number, labels?: Labels<Name>): void; clear(): void };
  histogram<Name extends HistogramName>(name: Name): { observe(value: number, labels?: Labels<Name>): void };
  /** Called before each `text()`, to set gauges that are only known by looking. Must not throw or wait. */
  onScrape(look: () => void): void;
  /** The Prometheus text of everything, for `/metrics`. */
  text(): Promise<string>;
  readonly contentType: string;
}

/**
 * Metrics of one process, in a registry of their own.
 * @param from `processMetrics`: also memory, CPU and event loop of this Node.js process, by their usual names.
 */
export function createMetrics(from: {
  readonly service: string;
  readonly version: string;
  readonly processMetrics?: boolean;
}): Metrics {
  const registry = new Registry();
  const looks: (() => void)[] = [];
  if (from.processMetrics) collectDefaultMetrics({ register: registry });
  const metrics: Metrics = {
    counter: (name) => {
      const counter = make(registry, name, Counter);
      return { inc: (labels, by = 1) => counter.inc(labels ?? {}, by) };
    },
    gauge: (name) => {
      const gauge = make(registry, name, Gauge);
      return { set: (value, labels) => gauge.set(labels ?? {}, value), clear: () => gauge.reset() };
    },
    histogram: (name) => {
      const histogram = make(registry, name, Histogram);
      return { observe: (value, labels) => histogram.observe(labels ?? {}, value) };
    },
    onScrape: (look) => {
      looks.push(look);
    },
    text: () => {
      for (const look of looks) look();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
  metrics.gauge('build_info').set(1, { service: from.service, version: from.version });
  return metrics;
}

const PREFIX = 'turnkeeper_';

type Settings = { name: string; help: string; labelNames: string[]; registers: Registry[]; buckets?: number[] };

function make<Kind extends object>(registry: Registry, name: MetricName, kind: new (settings: Settings) => Kind): Kind {
  const present = registry.getSingleMetric(PREFIX + name);
  if (present instanceof kind) return present;
  const spec: { readonly help: string; readonly labels?: readonly string[]; readonly buckets?: readonly number[] } =
    CATALOGUE[name];
  return new kind({
    name: PREFIX + name,
    help: spec.help,
    labelNames: [...(spec.labels ?? [])],
    registers: [registry],
    ...(spec.buckets ? { buckets: [...spec.buckets] } : {}),
  });
}

/** The catalogue as a Markdown table, for `docs/metrics.md`. */
export function documentMetrics(): string {
  const rows = Object.entries(CATALOGUE).map(([name, spec]) => {
    const labels = 'labels' in spec ? spec.labels.map((label) => `\`${label}\``).join(', ') : '';
    return `| \`${PREFIX}${name}\` | ${spec.type} | ${labels} | ${spec.help} |`;
  });
  return ['| name | type | labels | meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
}

import { type Cell, CONTENDERS, type Contender, type Matrix, median } from './matrix.ts';
import type { Outcome } from './workload.ts';

/** Medians of the ratios of each round; null when one of the two was not measured. */
export interface Ratios {
  readonly layerVsGroupmq: number | null;
  readonly layerVsGraphileGrouped: number | null;
  readonly httpVsRestate: number | null;
  readonly httpVsGroupmq: number | null;
}

const PEAK = '1,000 lanes';

/** Who is how much faster, by the messages a second over 1,000 lanes. */
export function ratiosOf(cells: readonly Cell[]): Ratios {
  const ratio = (a: Contender, b: Contender) => {
    const rates = (of: Contender) =>
      new Map(outcomes(cells, of, PEAK).map(({ round, outcome }) => [round, outcome.perSecond]));
    const below = rates(b);
    const pairs = [...rates(a)].flatMap(([round, rate]) => {
      const other = below.get(round);
      return other === undefined ? [] : [rate / other];
    });
    const middle = median(pairs);
    return middle === null ? null : Math.round(middle * 100) / 100;
  };
  return {
    layerVsGroupmq: ratio('turnkeeper, layer', 'groupmq'),
    layerVsGraphileGrouped: ratio('turnkeeper, layer', 'graphile-grouped'),
    httpVsRestate: ratio('turnkeeper, HTTP', 'restate'),
    httpVsGroupmq: ratio('turnkeeper, HTTP', 'groupmq'),
  };
}

/** Three tables in markdown: how much, how soon, and what went wrong. */
export function tablesOf({ cells }: Matrix): string {
  const names = CONTENDERS.filter((name) => cells.some(({ contender }) => contender === name));
  return [
    '| | messages/s, 1,000 lanes, median [least..most] | 10,000 lanes | 1,000 lanes, 5 ms a message | a hot lane, turns/s |',
    '|---|---|---|---|---|',
    ...names.map(
      (name) =>
        `| ${name} | ${[PEAK, '10,000 lanes', '1,000 lanes, 5 ms', 'a hot lane'].map((load) => rates(cells, name, load)).join(' | ')} |`,
    ),
    '',
    '| | half the peak, messages/s | accepted, p50 / p99 ms | begun, p50 / p99 ms | beside a hot lane: begun, p50 / p99 ms | not begun |',
    '|---|---|---|---|---|---|',
    ...names.map((name) => `| ${name} | ${latencies(cells, name).join(' | ')} |`),
    '',
    '| | runs | duplicates | out of order | overlapping | missing | failed runs |',
    '|---|---|---|---|---|---|---|',
    ...names.map((name) => `| ${name} | ${faults(cells, name).join(' | ')} |`),
    '',
  ].join('\n');
}

function outcomes(cells: readonly Cell[], name: Contender, load: string) {
  return cells.flatMap(({ contender, workload, round, outcome }) =>
    contender === name && workload.name === load && 'perSecond' in outcome ? [{ round, outcome, workload }] : [],
  );
}

function rates(cells: readonly Cell[], name: Contender, load: string): string {
  const all = outcomes(cells, name, load).map(({ outcome }) => Math.round(outcome.perSecond));
  if (all.length === 0) return '–';
  const show = (value: number) => value.toLocaleString('en-US');
  return `${show(median(all) ?? 0)} [${show(Math.min(...all))}..${show(Math.max(...all))}]`;
}

function latencies(cells: readonly Cell[], name: Contender): string[] {
  const half = outcomes(cells, name, 'half the peak');
  const beside = outcomes(cells, name, 'beside a hot lane');
  const rate = median(half.map(({ workload }) => (workload.pace.kind === 'open' ? workload.pace.perSecond : 0)));
  const missing = median(beside.map(({ outcome }) => outcome.missing));
  return [
    rate === null ? '–' : rate.toLocaleString('en-US'),
    pair(half.map(({ outcome }) => outcome.accept)),
    pair(half.map(({ outcome }) => outcome.start)),
    pair(beside.map(({ outcome }) => outcome.start)),
    missing === null ? '–' : String(missing),
  ];
}

function pair(spreads: readonly Outcome['start'][]): string {
  const known = spreads.flatMap((spread) => (spread === null ? [] : [spread]));
  if (known.length === 0) return '–';
  const show = (values: readonly number[]) => (median(values) ?? 0).toFixed(1);
  return `${show(known.map(({ p50 }) => p50))} / ${show(known.map(({ p99 }) => p99))}`;
}

function faults(cells: readonly Cell[], name: Contender): number[] {
  const mine = cells.filter(({ contender }) => contender === name);
  const good = mine.flatMap(({ outcome, workload }) => ('perSecond' in outcome ? [{ outcome, workload }] : []));
  const sum = (of: (outcome: Outcome) => number) => good.reduce((total, { outcome }) => total + of(outcome), 0);
  // beside a hot lane what is missing has a column of its own
  const missing = good.filter(({ workload }) => workload.pace.kind !== 'beside');
  return [
    mine.length,
    sum(({ duplicates }) => duplicates),
    sum(({ outOfOrder }) => outOfOrder),
    sum(({ overlapping }) => overlapping),
    missing.reduce((total, { outcome }) => total + outcome.missing, 0),
    mine.length - good.length,
  ];
}

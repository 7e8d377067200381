import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CATALOGUE } from '../packages/platform/src/telemetry/catalogue.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const groups: { readonly rules: readonly Rule[] }[] = parse(
  readFileSync('deploy/monitoring/alerts.yaml', 'utf8'),
).groups;
const rules = groups.flatMap((group) => group.rules);
const page = readFileSync('docs/operations.md', 'utf8');

/** What a query names, and where the grammar breaks. */
function namesIn(query: string): { metrics: string[]; labels: string[]; broken: boolean } {
  const found = { metrics: [] as string[], labels: [] as string[], broken: false };
  parser.parse(query).iterate({
    enter: ({ name, type, from, to, node }) => {
      const text = query.slice(from, to);
      if (type.isError) found.broken = true;
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') found.metrics.push(text);
      if (name === 'LabelName') found.labels.push(text);
    },
  });
  return found;
}

/** What is left of labels: those of every `by`; null where nothing is aggregated, so all are. */
function labelsKept(query: string): string[] | null {
  let kept: string[] | null = null;
  parser.parse(query).iterate({
    enter: ({ name, from, to, node }) => {
      if (name === 'AggregateExpr') kept ??= [];
      if (name === 'LabelName' && node.parent?.parent?.name === 'AggregateModifier')
        kept = [...(kept ?? []), query.slice(from, to)];
    },
  });
  return kept;
}

/** Series in Prometheus, by name: the labels they carry. */
const series = new Map(
  Object.entries(CATALOGUE).flatMap(([name, spec]): [string, readonly string[]][] => {
    const labels = 'labels' in spec ? spec.labels : [];
    const full = `turnkeeper_${name}`;
    if (spec.type !== 'histogram') return [[full, labels]];
    return [
      [`${full}_bucket`, [...labels, 'le']],
      [`${full}_count`, labels],
      [`${full}_sum`, labels],
    ];
  }),
);

describe('alerts', () => {
  it.each(rules)('$alert asks for series that exist, by labels that they have', ({ expr }) => {
    const { metrics, labels, broken } = namesIn(expr);
    expect(broken).toBe(false);
    expect(metrics).not.toEqual([]);
    for (const name of metrics) expect([...series.keys()]).toContain(name);
    const known = metrics.flatMap((name) => series.get(name) ?? []);
    for (const label of labels) expect(known).toContain(label);
  });

  it.each(rules)('$alert names only labels that its query leaves', ({ expr, annotations }) => {
    const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? '');
    const kept = labelsKept(expr) ?? namesIn(expr).metrics.flatMap((name) => series.get(name) ?? []);
    for (const label of named) expect(kept).toContain(label);
  });

  it.each(rules)('$alert says how urgent it is, and what it means and asks for on the page for operators', (rule) => {
    expect(['page', 'ticket']).toContain(rule.labels.severity);
    expect(rule.annotations.summary).toMatch(/\.$|;.*$/);
    expect(page).toContain(`| \`${rule.alert}\` |`);
  });

  it('are all there that the page explains, each once', () => {
    const explained = [...page.matchAll(/^\| `(Turnkeeper\w+)` \|/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });
});

it('a query that does not parse, or names what there is not, is seen', () => {
  expect(namesIn('max(turnkeeper_leader) <').broken).toBe(true);
  expect(series.has(namesIn('max(turnkeeper_leaders) < 1').metrics[0] ?? '')).toBe(false);
});

it('a label that a query drops is seen', () => {
  expect(labelsKept('max(turnkeeper_leader) < 1')).toEqual([]);
  expect(labelsKept('time() - max by (sweep) (turnkeeper_leader)')).toEqual(['sweep']);
  expect(labelsKept('turnkeeper_leader < 1')).toBeNull();
});

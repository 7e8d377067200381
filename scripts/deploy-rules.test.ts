import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { END_AFTER_DRAIN_MS } from '../packages/platform/src/process/run-process.ts';
import { clusterFaults } from './deploy/cluster-policies.ts';
import { graceFaults } from './deploy/grace.ts';
import type { Manifest } from './deploy/manifests.ts';
import { hasFixedTag, podFaults } from './deploy/pod-policies.ts';
import { variableFaults } from './deploy/variables.ts';

const BASE = 'deploy/kubernetes/base';
const KEYS = new Set(readFileSync('deploy/kubernetes/secrets.env.example', 'utf8').match(/^[a-z-]+(?==)/gm));

/** The base with what overlays add, after some text in it was replaced; no kustomize is asked. */
function faultsAfter(was: string, becomes: string): string[] {
  const text = readdirSync(BASE)
    .filter((name) => name !== 'kustomization.yaml')
    .map((name) => readFileSync(`${BASE}/${name}`, 'utf8'))
    .join('\n---\n')
    .replaceAll('image: turnkeeper\n', 'image: turnkeeper:1\n')
    .replaceAll(/^ {6}labels: \{/gm, '      labels: { app.kubernetes.io/name: turnkeeper,');
  if (!text.includes(was)) throw new Error(`the base no longer says ${was}`);
  const changed = text.replace(was, becomes);
  const stores = 'matchLabels: { app.kubernetes.io/component: store }';
  const manifests = parseAllDocuments(changed.replace(stores, 'matchLabels: {}')).map(
    (one) => one.toJSON() as Manifest,
  );
  return [...podFaults(manifests, KEYS), ...clusterFaults(manifests)];
}

const PLANTS: readonly [fault: string, was: string, becomes: string, says: RegExp][] = [
  ['variables of the cluster', 'enableServiceLinks: false', 'enableServiceLinks: true', /enableServiceLinks is not/],
  ['root', 'runAsNonRoot: true', 'runAsNonRoot: false', /runAsNonRoot is not true/],
  [
    'a token',
    'automountServiceAccountToken: false\n      enable',
    'enable',
    /automountServiceAccountToken is not false/,
  ],
  ['the latest image', 'image: turnkeeper:1', 'image: turnkeeper:latest', /has no tag, or latest/],
  ['no limit of memory', 'limits: { cpu: "1", memory: 512Mi }', 'limits: { cpu: "1" }', /not complete/],
  [
    'a probe of another path',
    '{ path: /healthz, port: internal }',
    '{ path: /, port: internal }',
    /does not ask \/healthz/,
  ],
  ['a variable that nobody reads', 'TURNKEEPER_WORKER_SLOTS', 'TURNKEEPER_SLOTS', /reads no TURNKEEPER_SLOTS/],
  [
    'a value out of bounds',
    'TURNKEEPER_WORKER_SLOTS, value: "2000"',
    'TURNKEEPER_WORKER_SLOTS, value: "many"',
    /TURNKEEPER_WORKER_SLOTS must be/,
  ],
  [
    'a secret that is not mounted',
    'value: /run/secrets/turnkeeper/redis-url',
    'value: /run/redis-url',
    /which is not mounted/,
  ],
  ['a secret that nobody makes', '{ key: redis-url,', '{ key: redis,', /secrets\.env\.example has no redis/],
  [
    'a grace period below the drain',
    'terminationGracePeriodSeconds: 150',
    'terminationGracePeriodSeconds: 130',
    /needs 142\.5/,
  ],
  [
    'a longer drain',
    'TURNKEEPER_DRAIN_TIMEOUT_MS, value: "45000"',
    'TURNKEEPER_DRAIN_TIMEOUT_MS, value: "60000"',
    /needs 92\.5/,
  ],
  [
    'another port',
    'name: internal, containerPort: 8423',
    'name: internal, containerPort: 8424',
    /port internal is not 8423/,
  ],
  ['no budget of disruptions', 'kind: PodDisruptionBudget', 'kind: Forgotten', /no PodDisruptionBudget selects it/],
  [
    'a budget that lets nothing go',
    'maxUnavailable: 1\n  unhealthy',
    'maxUnavailable: 0\n  unhealthy',
    /lets no pod go/,
  ],
  [
    'a pod outside all policies',
    'podSelector: {}\n  policyTypes: [Ingress, Egress]',
    'podSelector: { matchLabels: { a: b } }\n  policyTypes: [Ingress, Egress]',
    /Job\/turnkeeper-migrate: no NetworkPolicy holds its Ingress/,
  ],
  [
    'the internal port open to the world',
    'kubernetes.io/metadata.name: monitoring',
    'kubernetes.io/metadata.name: web',
    /opens the internal port/,
  ],
  [
    'a service of both ports',
    'port: 80, targetPort: public',
    'port: 80, targetPort: internal',
    /Ingress\/turnkeeper: leads to turnkeeper, which is not a public port/,
  ],
  [
    'an autoscaler of a metric that there is not',
    'turnkeeper_turn_slots_used }',
    'turnkeeper_slots_used }',
    /no metric turnkeeper_slots_used/,
  ],
  ['an autoscaler that aims too high', 'averageValue: "1400"', 'averageValue: "1900"', /aims at 1900 of 2000/],
];

describe('rules of check:deploy', () => {
  it('are content with the base', () => expect(faultsAfter('', '')).toEqual([]));
  it.each(PLANTS)('refuse %s', (...[, was, becomes, says]) =>
    expect(faultsAfter(was, becomes).join('\n')).toMatch(says),
  );

  it('take how long a process may need from the process itself', () => {
    const fits = { role: 'session-worker', env: {}, beforeSeconds: 5, graceSeconds: 125 + END_AFTER_DRAIN_MS / 1000 };
    expect(graceFaults(fits)).toEqual([]);
    expect(graceFaults({ ...fits, graceSeconds: fits.graceSeconds - 1 })).toHaveLength(1);
  });

  it('know which variables a role must be given', () => {
    expect(variableFaults('migrate', { TURNKEEPER_POSTGRES_URL_FILE: '/run/url' })).toEqual([]);
    expect(variableFaults('coordinator', {})).toContain('TURNKEEPER_POSTGRES_URL is missing');
    expect(variableFaults('gateway', {})).toEqual(['there is no role gateway']);
  });

  it('want images by tag or digest', () => {
    expect(['a', 'a:latest', 'r:5000/a', 'a:1', `a@sha256:${'0'.repeat(64)}`].map(hasFixedTag)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });
});

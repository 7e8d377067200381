import { CATALOGUE } from '../../packages/platform/src/telemetry/catalogue.ts';
import { type Manifest, nameOf, ofKind, type Pods, podsOf, portNumber, selects } from './manifests.ts';
import { environmentOf, said } from './pod-policies.ts';
import { variableOf } from './variables.ts';

const SCRAPERS = 'monitoring';
/** Of its turn slots, what a worker should have in use: below, capacity is paid for nothing; above, none is left for a peak. */
const SLOTS_USED = { min: 0.5, max: 0.8 };

/** What manifests must say about each other. */
export function clusterFaults(manifests: readonly Manifest[]): string[] {
  const pods = podsOf(manifests);
  return [
    ...disruptionFaults(manifests),
    ...coverFaults(manifests, pods),
    ...networkFaults(manifests, pods),
    ...serviceFaults(manifests, pods),
    ...doorFaults(manifests),
    ...scalingFaults(manifests, pods),
  ];
}

function disruptionFaults(manifests: readonly Manifest[]): string[] {
  const budgets = ofKind(manifests, 'PodDisruptionBudget');
  const missing = ofKind(manifests, 'Deployment').filter(
    ({ spec }) => !budgets.some((one) => selects(one.spec?.selector, spec?.template?.metadata?.labels ?? {})),
  );
  const rigid = budgets.filter(({ spec }) => Number(spec?.maxUnavailable ?? 0) < 1);
  return [
    ...missing.map((one) => `${nameOf(one)}: no PodDisruptionBudget selects it`),
    ...rigid.map((one) => `${nameOf(one)}: lets no pod go, so no machine can be emptied`),
  ];
}

/** Every pod is under a policy of both directions, and every policy is about some pod. */
function coverFaults(manifests: readonly Manifest[], pods: readonly Pods[]): string[] {
  const policies = ofKind(manifests, 'NetworkPolicy');
  const faults: string[] = [];
  for (const one of pods) {
    const of = policies.filter(({ spec }) => selects(spec?.podSelector, one.labels));
    for (const direction of ['Ingress', 'Egress'] as const)
      if (!of.some(({ spec }) => spec?.policyTypes?.includes(direction)))
        faults.push(`${one.of}: no NetworkPolicy holds its ${direction}`);
  }
  for (const policy of policies)
    if (!pods.some(({ labels }) => selects(policy.spec?.podSelector, labels)))
      faults.push(`${nameOf(policy)}: selects no pod`);
  return faults;
}

function networkFaults(manifests: readonly Manifest[], pods: readonly Pods[]): string[] {
  return ofKind(manifests, 'NetworkPolicy').flatMap((policy) => {
    const selected = pods.filter(({ labels }) => selects(policy.spec?.podSelector, labels));
    return (policy.spec?.ingress ?? []).flatMap(({ from = [], ports = [] }) => {
      const sources = from.map(
        ({ namespaceSelector }) => namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name'],
      );
      const isForScrapers = sources.length > 0 && sources.every((name) => name === SCRAPERS);
      const open = ports.map(({ port }) => port);
      return said([
        [from.length > 0 && ports.length > 0, `${nameOf(policy)}: a rule without sources or ports lets everything in`],
        ...open.map((port): [boolean, string] => [
          selected.some(({ spec }) => portNumber(spec, port) !== undefined),
          `${nameOf(policy)}: none of its pods has port ${port}`,
        ]),
        [
          isForScrapers || !open.includes('internal'),
          `${nameOf(policy)}: opens the internal port to others than ${SCRAPERS}`,
        ],
      ]);
    });
  });
}

function serviceFaults(manifests: readonly Manifest[], pods: readonly Pods[]): string[] {
  return ofKind(manifests, 'Service').flatMap((service) => {
    const selected = pods.filter(({ labels }) => selects({ matchLabels: service.spec?.selector ?? {} }, labels));
    const targets = (service.spec?.ports ?? []).map(({ targetPort, port }) => targetPort ?? port);
    return said([
      [selected.length > 0, `${nameOf(service)}: selects no pod`],
      ...targets.map((port): [boolean, string] => [
        selected.every(({ spec }) => portNumber(spec, port) !== undefined),
        `${nameOf(service)}: a pod has no port ${port}`,
      ]),
      [
        !targets.includes('internal') || targets.length === 1,
        `${nameOf(service)}: mixes the internal port with others`,
      ],
    ]);
  });
}

/** The world reaches ports named `public` of existing services, nothing else. */
function doorFaults(manifests: readonly Manifest[]): string[] {
  const services = ofKind(manifests, 'Service');
  return ofKind(manifests, 'Ingress').flatMap((door) =>
    (door.spec?.rules ?? [])
      .flatMap(({ http }) => http?.paths ?? [])
      .flatMap(({ backend: { service } }) => {
        const behind = services.find(({ metadata }) => metadata?.name === service?.name);
        const port = behind?.spec?.ports?.find(
          ({ name, port }) => name === service?.port?.name || port === service?.port?.number,
        );
        return said([
          [port?.targetPort === 'public', `${nameOf(door)}: leads to ${service?.name}, which is not a public port`],
        ]);
      }),
  );
}

function scalingFaults(manifests: readonly Manifest[], pods: readonly Pods[]): string[] {
  return ofKind(manifests, 'HorizontalPodAutoscaler').flatMap((scaler) => {
    const target = ofKind(manifests, 'Deployment').find(
      ({ metadata }) => metadata?.name === scaler.spec?.scaleTargetRef.name,
    );
    const container = pods.find(({ kind, name }) => kind === 'Deployment' && name === target?.metadata?.name)?.spec
      .containers[0];
    const slots =
      container && Number(variableOf('session-worker', 'TURNKEEPER_WORKER_SLOTS', environmentOf(container)));
    const faults = said([
      [target !== undefined, 'scales nothing that there is'],
      [target?.spec?.replicas === undefined, 'its Deployment sets replicas, too: each apply would undo its work'],
    ]);
    for (const { pods: metric } of scaler.spec?.metrics ?? []) {
      if (metric === undefined) continue;
      const known = Object.keys(CATALOGUE).map((name) => `turnkeeper_${name}`);
      if (!known.includes(metric.metric.name)) faults.push(`there is no metric ${metric.metric.name}`);
      const share = Number(metric.target.averageValue) / (slots ?? Number.NaN);
      if (metric.metric.name === 'turnkeeper_turn_slots_used' && !(share >= SLOTS_USED.min && share <= SLOTS_USED.max))
        faults.push(
          `aims at ${metric.target.averageValue} of ${slots} slots: between ${SLOTS_USED.min} and ${SLOTS_USED.max} of them is wanted`,
        );
    }
    return faults.map((fault) => `${nameOf(scaler)}: ${fault}`);
  });
}

import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { INamespace } from 'kubernetes-models/v1/Namespace';
import type { IService } from 'kubernetes-models/v1/Service';
import type { IServiceAccount } from 'kubernetes-models/v1/ServiceAccount';

/** Every kind that may be deployed: a new one is a new line, and perhaps a new rule. */
export type Manifest =
  | IDeployment
  | IStatefulSet
  | IJob
  | IService
  | IServiceAccount
  | INamespace
  | IIngress
  | INetworkPolicy
  | IPodDisruptionBudget
  | IHorizontalPodAutoscaler;
export type Workload = IDeployment | IStatefulSet | IJob;
export type PodSpec = NonNullable<NonNullable<NonNullable<IDeployment['spec']>['template']>['spec']>;
export type Container = PodSpec['containers'][number];
type Selector = NonNullable<NonNullable<IPodDisruptionBudget['spec']>['selector']>;
type Labels = Readonly<Record<string, string>>;

/** The pods that a workload makes. */
export interface Pods {
  /** `Deployment/turnkeeper-ingress`, for messages. */
  readonly of: string;
  readonly kind: Workload['kind'];
  readonly name: string;
  readonly labels: Labels;
  readonly spec: PodSpec;
}

export function nameOf(manifest: Manifest): string {
  return `${manifest.kind}/${manifest.metadata?.name ?? '?'}`;
}

export function ofKind<Kind extends Manifest['kind']>(
  manifests: readonly Manifest[],
  kind: Kind,
): Extract<Manifest, { kind: Kind }>[] {
  return manifests.filter((one): one is Extract<Manifest, { kind: Kind }> => one.kind === kind);
}

export function podsOf(manifests: readonly Manifest[]): Pods[] {
  const workloads: readonly Workload[] = [
    ...ofKind(manifests, 'Deployment'),
    ...ofKind(manifests, 'StatefulSet'),
    ...ofKind(manifests, 'Job'),
  ];
  return workloads.flatMap((one) => {
    const template = one.spec?.template;
    if (template?.spec === undefined) return [];
    const name = one.metadata?.name ?? '?';
    return [{ of: nameOf(one), kind: one.kind, name, labels: template.metadata?.labels ?? {}, spec: template.spec }];
  });
}

/** Does a selector take pods with these labels? An empty one takes all. */
export function selects(selector: Selector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const named = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    named &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      if (operator === 'In') return values.includes(labels[key] ?? '');
      if (operator === 'NotIn') return !values.includes(labels[key] ?? '');
      return (operator === 'Exists') === (labels[key] !== undefined);
    })
  );
}

/** The number behind a port's name or number, if one of the pod's containers has it. */
export function portNumber(spec: PodSpec, port: string | number | undefined): number | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  return ports.find(({ name, containerPort }) => name === port || containerPort === port)?.containerPort;
}

import { graceFaults } from './grace.ts';
import { type Container, type Manifest, ofKind, type Pods, podsOf, portNumber } from './manifests.ts';
import { type Environment, SERVICES, variableFaults, variableOf } from './variables.ts';

const PRODUCT = 'turnkeeper';

/** What no pod may be or lack, and what the product's own pods must say. */
export function podFaults(manifests: readonly Manifest[], secretKeys: ReadonlySet<string>): string[] {
  const accounts = ofKind(manifests, 'ServiceAccount').map(({ metadata }) => metadata?.name);
  return podsOf(manifests).flatMap((pods) => {
    const faults = [
      ...isolationFaults(pods),
      ...secretFaults(pods, secretKeys),
      ...pods.spec.containers.flatMap((container) => [
        ...containerFaults(container),
        ...(pods.kind === 'Job' ? [] : probeFaults(pods, container)),
        ...(isOwn(pods) ? ownFaults(pods, container, accounts) : []),
      ]),
    ];
    return faults.map((fault) => `${pods.of}: ${fault}`);
  });
}

function isOwn(pods: Pods): boolean {
  return pods.labels['app.kubernetes.io/name'] === PRODUCT;
}

function isolationFaults({ spec }: Pods): string[] {
  const { securityContext } = spec;
  const volumes = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined);
  return said([
    [securityContext?.runAsNonRoot === true, 'runAsNonRoot is not true'],
    [(securityContext?.runAsUser ?? 0) > 0, 'runAsUser is not above 0'],
    [securityContext?.seccompProfile?.type === 'RuntimeDefault', 'seccompProfile is not RuntimeDefault'],
    [spec.automountServiceAccountToken === false, 'automountServiceAccountToken is not false'],
    [!(spec.hostNetwork || spec.hostPID || spec.hostIPC) && volumes.length === 0, 'reaches into its host'],
  ]);
}

function containerFaults({ name, image, resources, securityContext }: Container): string[] {
  const has = (which: 'requests' | 'limits') => ['cpu', 'memory'].every((of) => resources?.[which]?.[of] !== undefined);
  return said([
    [securityContext?.readOnlyRootFilesystem === true, `${name}: readOnlyRootFilesystem is not true`],
    [securityContext?.allowPrivilegeEscalation === false, `${name}: allowPrivilegeEscalation is not false`],
    [securityContext?.capabilities?.drop?.includes('ALL') === true, `${name}: capabilities are not dropped`],
    [hasFixedTag(image), `${name}: the image ${image} has no tag, or latest`],
    [has('requests') && has('limits'), `${name}: requests and limits of cpu and memory are not complete`],
  ]);
}

/** Does an image's name say which one it is? */
export function hasFixedTag(image: string | undefined): boolean {
  return /(:(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image ?? '');
}

function probeFaults(pods: Pods, { name, livenessProbe, readinessProbe, startupProbe }: Container): string[] {
  const probes = [livenessProbe, readinessProbe, startupProbe];
  const ports = probes.flatMap((probe) => (probe?.httpGet ? [probe.httpGet.port] : []));
  return said([
    [livenessProbe !== undefined && readinessProbe !== undefined, `${name}: lacks a probe`],
    ...ports.map((port): [boolean, string] => [
      portNumber(pods.spec, port) !== undefined,
      `${name}: a probe asks port ${port}, which it does not have`,
    ]),
    ...(isOwn(pods)
      ? ([
          [livenessProbe?.httpGet?.path === '/healthz', `${name}: liveness does not ask /healthz`],
          [readinessProbe?.httpGet?.path === '/readyz', `${name}: readiness does not ask /readyz`],
        ] as const)
      : []),
  ]);
}

function secretFaults({ spec }: Pods, keys: ReadonlySet<string>): string[] {
  const mounted = (spec.volumes ?? []).flatMap(({ secret }) => (secret?.items ?? []).map(({ key }) => key));
  const read = spec.containers.flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) => (valueFrom?.secretKeyRef ? [valueFrom.secretKeyRef.key] : [])),
  );
  return [...mounted, ...read].filter((key) => !keys.has(key)).map((key) => `secrets.env.example has no ${key}`);
}

function ownFaults(pods: Pods, container: Container, accounts: readonly (string | undefined)[]): string[] {
  const role = container.args?.[0] ?? '';
  const env = environmentOf(container);
  const files = Object.entries(env).filter(([name]) => name.endsWith('_FILE'));
  const mounted = new Set(
    (pods.spec.volumes ?? []).flatMap(({ name, secret }) => {
      const at = container.volumeMounts?.find((mount) => mount.name === name)?.mountPath;
      return (secret?.items ?? []).map(({ path }) => `${at}/${path}`);
    }),
  );
  return [
    ...variableFaults(role, env),
    ...files.flatMap(([name, path]) =>
      mounted.has(path ?? '') ? [] : [`${name} names ${path}, which is not mounted`],
    ),
    ...said([
      [accounts.includes(pods.spec.serviceAccountName), 'has no account of its own'],
      // for a Service called turnkeeper the cluster would set TURNKEEPER_PORT to an address
      [pods.spec.enableServiceLinks === false, 'enableServiceLinks is not false'],
    ]),
    ...(SERVICES.includes(role) ? serviceFaults(pods, container, env) : []),
  ];
}

function serviceFaults(pods: Pods, container: Container, env: Environment): string[] {
  const role = container.args?.[0] ?? '';
  const { preStop } = container.lifecycle ?? {};
  const portIs = (name: string, variable: string): [boolean, string] => {
    const wanted = Number(variableOf(role, variable, env));
    return [portNumber(pods.spec, name) === wanted, `port ${name} is not ${wanted}, where it listens`];
  };
  return [
    ...said([
      [preStop === undefined || preStop.sleep !== undefined, 'preStop may only sleep: the image has no other program'],
      portIs('internal', 'TURNKEEPER_INTERNAL_PORT'),
      ...(role === 'ingress' ? [portIs('public', 'TURNKEEPER_PORT')] : []),
    ]),
    ...graceFaults({
      role,
      env,
      beforeSeconds: preStop?.sleep?.seconds ?? 0,
      graceSeconds: pods.spec.terminationGracePeriodSeconds,
    }),
  ];
}

export function environmentOf({ env = [] }: Container): Environment {
  return Object.fromEntries(env.map(({ name, value }) => [name, value ?? null]));
}

/** The sentences of those rules that do not hold. */
export function said(rules: readonly (readonly [holds: boolean, sentence: string])[]): string[] {
  return rules.filter(([holds]) => !holds).map(([, sentence]) => sentence);
}

import type { Environment } from '@turnkeeper/platform/config';
import { DEMO_CHAT, DEMO_TENANT } from './demo-tenant.ts';
import { type InternalPorts, nextPort } from './ports.ts';
import type { UpSecrets } from './secrets.ts';
import type { ServiceKind, ServiceSpec } from './service-process.ts';

const WORKER_SLOTS = 5000;

/** The services of a local cluster and the environment of each: on loopback only, sharing stores and secrets. */
export function serviceSpecs(from: {
  /** Of `up` itself: what it sets about the services holds, unless the cluster needs it otherwise. */
  readonly shell: Environment;
  readonly urls: { readonly postgres: string; readonly redis: string; readonly nats: string };
  readonly secrets: UpSecrets;
  /** Where the built chat page is; null: it is not served. */
  readonly chatFolder: string | null;
  /** Compiled sources are kept there, for a quicker next start. */
  readonly compileCache: string;
  /** One per ingress. */
  readonly ports: readonly number[];
  readonly internalPorts: InternalPorts;
  /** Nobody asked for these very ports. */
  readonly portsMayMove: boolean;
  readonly workers: number;
  readonly coordinators: number;
}): ServiceSpec[] {
  const { shell, urls, secrets } = from;
  const defaults = {
    TURNKEEPER_WORKER_SLOTS: String(WORKER_SLOTS),
    TURNKEEPER_EGRESS_ALLOW: 'loopback',
    // the whole cluster ends at once: there is no other node to be led to
    TURNKEEPER_LAME_DUCK_MS: '0',
    NODE_COMPILE_CACHE: from.compileCache,
  };
  const shared = {
    TURNKEEPER_POSTGRES_URL: urls.postgres,
    TURNKEEPER_REDIS_URL: urls.redis,
    TURNKEEPER_NATS_URL: urls.nats,
    TURNKEEPER_KEY_PEPPER: secrets.pepper,
    TURNKEEPER_MASTER_KEY: secrets.masterKey,
    TURNKEEPER_HOST: '127.0.0.1',
    TURNKEEPER_INTERNAL_HOST: '127.0.0.1',
    TURNKEEPER_EGRESS_DENY_PORTS: denyPorts(from),
  };
  const env = { ...defaults, ...withoutFiles(shell, shared), ...shared };
  const place = (spec: Omit<ServiceSpec, 'elsewhere'>, publicPort: number | null): ServiceSpec | null => {
    const internalPort = from.internalPorts.take();
    if (internalPort === null) return null;
    const listeners = {
      TURNKEEPER_INTERNAL_PORT: String(internalPort),
      ...(publicPort === null ? {} : { TURNKEEPER_PORT: String(publicPort) }),
    };
    const elsewhere = async () =>
      place(spec, publicPort !== null && from.portsMayMove ? await nextPort(publicPort) : publicPort);
    return { ...spec, env: { ...spec.env, ...listeners }, elsewhere };
  };
  const make = (kind: ServiceKind, count: number): (ServiceSpec | null)[] =>
    Array.from({ length: count }, (_, i) => place({ kind, name: `${kind}-${i + 1}`, env }, null));
  const ingressEnv = { ...chatEnv(from.chatFolder), ...env, TURNKEEPER_OPERATOR_KEY: secrets.operatorKey };
  const specs = [
    ...from.ports.map((port, i) => place({ kind: 'ingress', name: `ingress-${i + 1}`, env: ingressEnv }, port)),
    ...make('session-worker', from.workers),
    ...make('coordinator', from.coordinators),
  ];
  return specs.filter((spec) => spec !== null);
}

/** Anybody who reaches this machine's loopback may chat with the demo tenant, unless the shell says otherwise. */
function chatEnv(folder: string | null): Environment {
  if (folder === null) return {};
  return { TURNKEEPER_CHAT_FOLDER: folder, TURNKEEPER_CHAT_GUESTS: `${DEMO_TENANT}.${DEMO_CHAT}` };
}

/** What the shell forbids, and every internal listener; each service adds the stores itself. */
function denyPorts({ shell, internalPorts }: { readonly shell: Environment; readonly internalPorts: InternalPorts }) {
  return [shell['TURNKEEPER_EGRESS_DENY_PORTS'] ?? '', ...internalPorts.all].filter((port) => port !== '').join(',');
}

/** What is set here must not also come from a file that the shell names. */
function withoutFiles(shell: Environment, set: Environment): Environment {
  const files = new Set([...Object.keys(set), 'TURNKEEPER_OPERATOR_KEY'].map((name) => `${name}_FILE`));
  return Object.fromEntries(
    Object.entries(shell).filter(([name]) => !files.has(name) && name !== 'TURNKEEPER_OPERATOR_KEY'),
  );
}

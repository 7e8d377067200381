import { integer, list } from '../config/index.ts';
import { checkAllowEntry } from './address-rules.ts';

const PORT_MAX = 65_535;

/** Outgoing requests: rows of the table of a service that makes some. */
export function egressOptions() {
  return {
    egressAllow: list({
      env: 'TURNKEEPER_EGRESS_ALLOW',
      kind: '`loopback` and CIDR blocks, with commas',
      check: checkAllowEntry,
      help: 'Addresses besides public ones to which tenants may direct requests (webhooks, model endpoints).',
    }),
    egressDenyPorts: list({
      env: 'TURNKEEPER_EGRESS_DENY_PORTS',
      kind: 'ports, with commas',
      check: checkPort,
      help: 'Ports that no request of a tenant may go to at addresses that only `TURNKEEPER_EGRESS_ALLOW` opens: those of the cluster itself. The three stores and the own internal listener are always among them.',
    }),
    egressConnectionsMax: integer({
      env: 'TURNKEEPER_EGRESS_CONNECTIONS_MAX',
      default: 2048,
      min: 1,
      max: 100_000,
      help: 'Outgoing requests that one tenant may have in flight from one process.',
    }),
  };
}

function checkPort(text: string): string | null {
  const isPort = /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= PORT_MAX;
  return isPort ? null : `must be ports (1–${PORT_MAX}), with commas between`;
}

/** The port that a URL of a store means. */
const STORE_PORTS: Readonly<Record<string, number>> = {
  ...{ 'postgres:': 5432, 'postgresql:': 5432 },
  ...{ 'redis:': 6379, 'rediss:': 6379 },
  ...{ 'nats:': 4222, 'tls:': 4222 },
};

/** The ports that tenants must not reach inside a cluster: those of its stores, of this process, and those that were named. */
export function clusterPorts(config: {
  readonly egressDenyPorts: readonly string[];
  readonly storeUrls: readonly string[];
  /** 0: any, so nobody can know it before. */
  readonly internalPort: number;
}): ReadonlySet<number> {
  const stores = config.storeUrls.map((text) => {
    const { port, protocol } = new URL(text);
    return port === '' ? (STORE_PORTS[protocol] ?? 0) : Number(port);
  });
  return new Set([...config.egressDenyPorts.map(Number), ...stores, config.internalPort].filter((port) => port > 0));
}

import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.ts';
import { EgressError } from './error.ts';

export interface ConnectorParts {
  readonly rules: AddressRules;
  /** Ports of the cluster itself: no exception of the rules opens them. */
  readonly clusterPorts: ReadonlySet<number>;
  /** Name, connection and TLS together. */
  readonly connectMs: number;
  readonly onBlocked: (reason: string) => void;
}

/**
 * Connects only to addresses that the rules let pass. The name is resolved once, inside the connect, and the socket goes
 * to that very address: there is no second resolution that could answer differently. Every failure in here is an
 * EgressError by which nothing was sent.
 */
export function createConnector({
  rules,
  clusterPorts,
  connectMs,
  onBlocked,
}: ConnectorParts): buildConnector.connector {
  const wayTo = (toClusterPort: boolean) => {
    const check = (address: string): EgressError | null => {
      const reason = rules.refuse(address, toClusterPort);
      if (reason === null) return null;
      onBlocked(reason);
      return new EgressError('blocked');
    };
    return { check, connect: buildConnector({ timeout: connectMs, lookup: guardedLookup(check) }) };
  };
  // a lookup is not told the port, so there is one for either kind
  const [elsewhere, inCluster] = [wayTo(false), wayTo(true)];
  return (options, callback) => {
    const { check, connect } = clusterPorts.has(portOf(options)) ? inCluster : elsewhere;
    // for a literal address the socket asks no lookup
    const literal = options.hostname.replace(/^\[|\]$/g, '');
    const refused = isIP(literal) === 0 ? null : check(literal);
    if (refused) return callback(refused, null);
    connect(options, (err, socket) => {
      if (socket) return callback(null, socket);
      callback(err instanceof EgressError ? err : new EgressError('connect', err), null);
    });
  };
}

/** Empty: the protocol's own. */
function portOf({ port, protocol }: buildConnector.Options): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function guardedLookup(check: (address: string) => EgressError | null): LookupFunction {
  return (hostname: string, options: LookupOptions, callback) => {
    lookup(hostname, { ...options, all: true }, (err, addresses: LookupAddress[]) => {
      if (err) return callback(err, '', 0);
      const refusals = addresses.map(({ address }) => check(address));
      const open = addresses.filter((_, i) => refusals[i] === null);
      const [first] = open;
      if (!first) return callback(refusals[0] ?? new EgressError('blocked'), '', 0);
      return options.all ? callback(null, open) : callback(null, first.address, first.family);
    });
  };
}

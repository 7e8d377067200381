import { integer, list } from '../config/index.ts';
import { checkAllowEntry } from './address-rules.ts';

/** Outgoing requests: rows of the table of a service that makes some. */
export function egressOptions() {
  return {
    egressAllow: list({
      env: 'TURNKEEPER_EGRESS_ALLOW',
      kind: '`loopback` and CIDR blocks, with commas',
      check: checkAllowEntry,
      help: 'Addresses besides public ones to which tenants may direct requests (webhooks, model endpoints).',
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

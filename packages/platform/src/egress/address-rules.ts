import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Block = [Address, number];

/** Which addresses outgoing requests may go to. */
export interface AddressRules {
  /**
   * The reason it is refused (a range's name, or `cluster_port`), or null.
   * @param toClusterPort the request goes to a port of the cluster itself: the exceptions do not count
   */
  refuse(address: string, toClusterPort?: boolean): string | null;
}

/** Public addresses that only a cloud's own machines see: Azure's metadata and agent service. */
const METADATA = ['168.63.129.16'];

/**
 * Only ordinary public addresses pass: not private, loopback, link-local (cloud metadata), carrier-grade or unique-local
 * (clusters), multicast, reserved or translated ones; an IPv4 address in IPv6 clothes counts as what it is.
 * @param allow exceptions: CIDR blocks, or the word `loopback`
 */
export function createAddressRules(allow: readonly string[]): AddressRules {
  const blocks = allow.filter((entry) => entry !== LOOPBACK).map((entry): Block => ipaddr.parseCIDR(entry));
  const loopback = allow.includes(LOOPBACK);
  return {
    refuse: (text, toClusterPort = false) => {
      if (!ipaddr.isValid(text)) return 'invalid';
      const address = ipaddr.process(text);
      const range = rangeOf(address);
      const isException = blocks.some((block) => isIn(address, block)) || (range === 'loopback' && loopback);
      if (isException) return toClusterPort ? 'cluster_port' : null;
      return range === 'unicast' ? null : range;
    },
  };
}

const LOOPBACK = 'loopback';
/** `::a.b.c.d`, deprecated (RFC 4291): an IPv4 address that no other rule would see. */
const COMPATIBLE = ipaddr.parseCIDR('::/96');

function rangeOf(address: Address): string {
  if (METADATA.includes(address.toString())) return 'metadata';
  const range = address.range();
  return range === 'unicast' && isIn(address, COMPATIBLE) ? 'ipv4Compatible' : range;
}

/** What is wrong with an entry of the allow list, or null. */
export function checkAllowEntry(entry: string): string | null {
  if (entry === LOOPBACK || ipaddr.isValidCIDR(entry)) return null;
  return 'must be `loopback` and CIDR blocks (10.0.0.0/8), with commas between';
}

function isIn(address: Address, [network, bits]: Block): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

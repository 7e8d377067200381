import { describe, expect, it } from 'vitest';
import { checkAllowEntry, createAddressRules } from './address-rules.ts';

const strict = createAddressRules([]);

describe('address rules', () => {
  it.each([
    ['8.8.8.8', null],
    ['2606:4700::1111', null],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.8.9.1', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['169.254.169.254', 'linkLocal'],
    ['fe80::1', 'linkLocal'],
    ['fd00:ec2::254', 'uniqueLocal'],
    ['100.100.100.200', 'carrierGradeNat'],
    ['168.63.129.16', 'metadata'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:a9fe:a9fe', 'linkLocal'],
    ['::7f00:1', 'ipv4Compatible'],
    ['::a00:1', 'ipv4Compatible'],
    ['64:ff9b::a00:1', 'rfc6052'],
    ['2002:a00:1::', '6to4'],
    ['not an address', 'invalid'],
  ])('%s → %s', (address, reason) => {
    expect(strict.refuse(address)).toBe(reason);
  });

  it('lets pass what an operator allows, in any clothes', () => {
    const rules = createAddressRules(['10.0.0.0/8', 'fd00::/8', 'loopback']);
    for (const address of ['10.255.0.1', '::ffff:10.0.0.1', 'fd12::1', '127.0.0.1', '::1']) {
      expect(rules.refuse(address)).toBeNull();
    }
    expect(rules.refuse('192.168.0.1')).toBe('private');
  });

  it('opens no port of the cluster by an exception', () => {
    const rules = createAddressRules(['10.0.0.0/8', 'loopback']);
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.1.2.3']) {
      expect(rules.refuse(address, true)).toBe('cluster_port');
    }
    expect(rules.refuse('192.168.0.1', true)).toBe('private');
    expect(rules.refuse('8.8.8.8', true)).toBeNull();
  });

  it('knows a wrong entry of the allow list', () => {
    for (const entry of ['loopback', '10.0.0.0/8', 'fd00::/8']) expect(checkAllowEntry(entry)).toBeNull();
    for (const entry of ['10.0.0.0', 'localhost', '10.0.0.0/33', '*']) expect(checkAllowEntry(entry)).not.toBeNull();
  });
});

import type { TenantId } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { Sealing } from './sealing.ts';
import { serverKeyWrap } from './server-key.ts';

const unresolved = expect.objectContaining({ code: 'secret_unresolved' });
const secrets = { apiKey: 'sk-ü-1', other: '' };
const owner = { id: 'agent', version: 1 };
const tenantId = 't' as TenantId;

async function setUp() {
  const sealing = new Sealing(serverKeyWrap('ab'.repeat(32)));
  const dataKey = await sealing.newDataKey();
  return { sealing, dataKey, seal: await sealing.ofTenant(tenantId, dataKey) };
}

describe('Sealing', () => {
  it('opens what it sealed, and shows nothing of it', async () => {
    const { sealing, dataKey, seal } = await setUp();
    const sealed = seal.seal(owner, secrets);
    const later = await sealing.ofTenant(tenantId, dataKey);
    expect(later.open(owner, sealed)).toEqual(secrets);
    expect(Buffer.from(sealed ?? []).toString('latin1')).not.toContain('sk-');
  });

  it('seals nothing as nothing, and equal values differently each time', async () => {
    const { seal } = await setUp();
    expect(seal.seal(owner, {})).toBeNull();
    expect(seal.open(owner, null)).toEqual({});
    expect(seal.seal(owner, secrets)).not.toEqual(seal.seal(owner, secrets));
  });

  it('refuses bytes of another row, of another tenant, or altered ones', async () => {
    const { sealing, dataKey, seal } = await setUp();
    const sealed = seal.seal(owner, secrets) ?? new Uint8Array();
    expect(() => seal.open({ ...owner, version: 2 }, sealed)).toThrow(unresolved);
    expect(() => seal.open({ ...owner, id: 'account' }, sealed)).toThrow(unresolved);
    const strangers = [
      await sealing.ofTenant('u' as TenantId, dataKey),
      await sealing.ofTenant(tenantId, await sealing.newDataKey()),
    ];
    for (const stranger of strangers) expect(() => stranger.open(owner, sealed)).toThrow(unresolved);
    for (const place of [0, 5, 14, sealed.length - 1]) {
      const altered = Uint8Array.from(sealed, (byte, i) => (i === place ? byte ^ 1 : byte));
      expect(() => seal.open(owner, altered)).toThrow(unresolved);
    }
    expect(() => seal.open(owner, sealed.subarray(0, 20))).toThrow(unresolved);
  });

  it('opens nothing under another server key', async () => {
    const { dataKey } = await setUp();
    const other = new Sealing(serverKeyWrap(Buffer.alloc(32, 7).toString('base64')));
    await expect(other.ofTenant(tenantId, dataKey)).rejects.toThrow(unresolved);
  });
});

describe('serverKeyWrap', () => {
  it.each(['', 'short', 'ab'.repeat(31), Buffer.alloc(31).toString('base64')])('refuses %j as a key', (text) => {
    expect(() => serverKeyWrap(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});

import type { TenantId } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { Sealing } from './sealing.ts';
import { serverKeyWrap } from './server-key.ts';

const unresolved = expect.objectContaining({ code: 'secret_unresolved' });
const values = { apiKey: 'sk-ü-1', other: '' };

async function setUp(masterKey = 'ab'.repeat(32)) {
  const sealing = new Sealing(serverKeyWrap(masterKey));
  const owner = { tenantId: 't' as TenantId, dataKey: await sealing.newDataKey(), id: 'agent', version: 1 };
  return { sealing, owner };
}

describe('Sealing', () => {
  it('opens what it sealed, and shows nothing of it', async () => {
    const { sealing, owner } = await setUp();
    const sealed = await sealing.seal(owner, values);
    expect(await sealing.open(owner, sealed)).toEqual(values);
    expect(Buffer.from(sealed ?? []).toString('latin1')).not.toContain('sk-');
  });

  it('seals nothing as nothing, and equal values differently each time', async () => {
    const { sealing, owner } = await setUp();
    expect(await sealing.seal(owner, {})).toBeNull();
    expect(await sealing.open(owner, null)).toEqual({});
    expect(await sealing.seal(owner, values)).not.toEqual(await sealing.seal(owner, values));
  });

  it('refuses bytes of another row, of another tenant, or altered ones', async () => {
    const { sealing, owner } = await setUp();
    const sealed = (await sealing.seal(owner, values)) ?? new Uint8Array();
    for (const other of [
      { ...owner, version: 2 },
      { ...owner, id: 'account' },
      { ...owner, tenantId: 'u' as TenantId },
      { ...owner, dataKey: await sealing.newDataKey() },
    ]) {
      await expect(sealing.open(other, sealed)).rejects.toThrow(unresolved);
    }
    for (const place of [0, 5, 14, sealed.length - 1]) {
      const altered = Uint8Array.from(sealed, (byte, i) => (i === place ? byte ^ 1 : byte));
      await expect(sealing.open(owner, altered)).rejects.toThrow(unresolved);
    }
    await expect(sealing.open(owner, sealed.subarray(0, 20))).rejects.toThrow(unresolved);
  });

  it('opens nothing under another server key', async () => {
    const { sealing, owner } = await setUp();
    const sealed = await sealing.seal(owner, values);
    const other = new Sealing(serverKeyWrap(Buffer.alloc(32, 7).toString('base64')));
    await expect(other.open(owner, sealed)).rejects.toThrow(unresolved);
  });
});

describe('serverKeyWrap', () => {
  it.each(['', 'short', 'ab'.repeat(31), Buffer.alloc(31).toString('base64')])('refuses %j as a key', (text) => {
    expect(() => serverKeyWrap(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});

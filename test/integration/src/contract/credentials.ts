import { randomBytes } from 'node:crypto';
import { KEY_PRESETS, type Scope, scopesOf } from '@turnkeeper/core';
import { type Cluster, until } from '@turnkeeper/test-harness';
import type { Contract } from './api-contract.ts';

/** A way to ask for something, and what it is worth. */
export interface Credential {
  readonly kind: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The scheme of the document that it belongs to (none: it is no credential), and its scopes or why they do not count. */
  readonly worth: { readonly scheme?: string; readonly scopes?: readonly Scope[]; readonly refusal?: Expected };
}

export interface Expected {
  readonly status: number;
  readonly code: string;
}

/** What the document makes of a credential; null: it opens the operation. */
export function refusalOf({ security }: Contract, { worth }: Credential): Expected | null {
  if (security.length === 0) return null;
  const schemes = security.flatMap((way) => Object.entries(way));
  const scopes = schemes.find(([scheme]) => scheme === worth.scheme)?.[1];
  // a visitor is known to the tenant's door, and may do little there
  const isVisitorOfTenant = worth.scheme === 'clientToken' && schemes.some(([scheme]) => scheme === 'tenantKey');
  if (scopes === undefined && isVisitorOfTenant) return { status: 403, code: 'scope_missing' };
  if (scopes === undefined) return { status: 401, code: 'unauthenticated' };
  if (worth.refusal !== undefined) return worth.refusal;
  const has = scopes.every((scope) => worth.scopes?.includes(scope as Scope));
  return has ? null : { status: 403, code: 'scope_missing' };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const newToken = () => `tk_${randomBytes(8).toString('hex')}_${randomBytes(24).toString('hex')}`;

/** One of each kind, for a tenant. */
export async function allCredentials(cluster: Cluster, tenant: string, owner: string): Promise<Credential[]> {
  const put = async (name: string, body: object) => {
    const secret = newToken();
    const path = `/admin/v1/keys/${name}?tenant=${tenant}`;
    const { status, text } = await cluster.admin(path, { method: 'PUT', body: { secret, ...body } });
    if (status !== 201) throw new Error(`key ${name}: ${status} ${text}`);
    return secret;
  };
  const presets = await Promise.all(
    KEY_PRESETS.map(async (preset): Promise<Credential> => {
      const worth = { scheme: 'tenantKey', scopes: scopesOf(preset) };
      return { kind: `a key of preset ${preset}`, headers: bearer(await put(`preset-${preset}`, { preset })), worth };
    }),
  );
  const unauthenticated = {};
  const spent = (code: string, status = 401) => ({ scheme: 'tenantKey', refusal: { status, code } });
  const expired = await put('expired', { preset: 'owner', expiresAt: '2020-01-01T00:00:00.000Z' });
  const revoked = await put('revoked', { preset: 'owner', revoked: true });
  const token = await clientToken(cluster, owner);
  return [
    { kind: 'nothing', headers: {}, worth: unauthenticated },
    { kind: 'no bearer', headers: { authorization: 'Basic dGs6' }, worth: unauthenticated },
    { kind: 'no token', headers: bearer('x'), worth: unauthenticated },
    { kind: 'a wrong secret', headers: bearer(`${owner.slice(0, -4)}0000`), worth: unauthenticated },
    { kind: 'an unknown key', headers: bearer(newToken()), worth: unauthenticated },
    { kind: 'an unknown operator key', headers: bearer(newToken().replace('tk_', 'tkop_')), worth: unauthenticated },
    { kind: 'an expired key', headers: bearer(expired), worth: spent('key_expired') },
    { kind: 'a revoked key', headers: bearer(revoked), worth: spent('key_revoked') },
    {
      kind: 'a key of a suspended tenant',
      headers: bearer(await suspended(cluster)),
      worth: spent('tenant_suspended', 403),
    },
    { kind: 'a client token', headers: bearer(token), worth: { scheme: 'clientToken', scopes: [] } },
    { kind: 'a client token that was changed', headers: bearer(`${token.slice(0, -4)}AAAA`), worth: unauthenticated },
    { kind: 'an operator key', headers: bearer(cluster.operatorKey), worth: { scheme: 'operatorKey', scopes: [] } },
    ...presets,
  ];
}

async function clientToken(cluster: Cluster, key: string): Promise<string> {
  const agentId = (await cluster.api('/v1/accounts', { key })).json.data[0].agentId;
  const { status, json, text } = await cluster.api('/v1/client-tokens', { key, body: { sub: 'visitor', agentId } });
  if (status >= 300) throw new Error(`client token: ${status} ${text}`);
  return json.token;
}

async function suspended(cluster: Cluster): Promise<string> {
  const name = `suspended-${randomBytes(4).toString('hex')}`;
  const key = await cluster.putTenant({ name });
  await cluster.admin(`/admin/v1/tenants/${name}`, { method: 'PATCH', body: { status: 'suspended' } });
  await until('it is refused', async () => (await cluster.api('/v1/runs', { key })).status === 403);
  return key;
}

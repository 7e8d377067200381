/** Configuration between its bodies, its drafts and its answers: the same for tenants and for operators. */
import { channelOf } from '@turnkeeper/channels';
import {
  type AccountDraft,
  type AccountRow,
  type AgentDraft,
  type AgentRow,
  type ConfigChange as Change,
  completeAgent,
  completeLimits,
  type DeletionReceipt,
  formatId,
  type KeyDraft,
  type KeyRow,
  scopesOf,
  type TenantDraft,
  type TenantRow,
  type TenantWrites,
} from '@turnkeeper/core';
import type {
  Account,
  AccountBody,
  Agent,
  AgentBody,
  ConfigChange,
  Key,
  KeyBody,
  Tenant,
  TenantBody,
  TenantPatch,
  TenantReceipt,
} from '@turnkeeper/protocol';
import { DEFAULT_AGENT } from '../intake/targets.ts';

type Named<Body> = Body & { readonly name: string };

export function agentDraft({ name, ...settings }: Named<AgentBody>): AgentDraft {
  const apiKey = settings.openai?.apiKey;
  return { name, settings: completeAgent(settings), secrets: apiKey === undefined ? {} : { apiKey } };
}

/** `keptSecrets`: those that the account has already. @throws AppError `config_invalid`: the channel does not take it */
export function accountDraft(body: Named<AccountBody>, keptSecrets: readonly string[]): AccountDraft {
  const { name, agent = DEFAULT_AGENT, channel, options = {}, secrets = {} } = body;
  const complete = channelOf(channel).checkAccount({ options, secrets, keptSecrets });
  return { name, agent, channel, options: complete, secrets };
}

export function keyDraft({ name, secret, preset, scopes, expiresAt, revoked }: Named<KeyBody>): KeyDraft {
  return {
    name,
    token: secret ?? null,
    scopes: preset === undefined ? [...new Set(scopes)] : scopesOf(preset),
    preset: preset ?? null,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
    revoked: revoked ?? false,
  };
}

export function tenantDraft(body: Named<TenantBody>, accounts: readonly AccountDraft[]): TenantDraft {
  return {
    name: body.name,
    status: body.status ?? null,
    limits: completeLimits(body.limits ?? {}),
    timeZone: body.timeZone ?? 'UTC',
    keys: (body.keys ?? []).map(keyDraft),
    agents: (body.agents ?? []).map(agentDraft),
    accounts,
  };
}

export function patchedTenant({ name, limits: known }: TenantRow, patch: TenantPatch): TenantDraft {
  const { status = null, limits, timeZone = null } = patch;
  const merged = limits === undefined ? null : completeLimits({ ...known, ...limits });
  return { name, status, limits: merged, timeZone, keys: [], agents: [], accounts: [] };
}

export function receiptAnswer(receipt: DeletionReceipt): TenantReceipt {
  const { tenantId, name, requestedBy, requestedAt, finishedAt, rows } = receipt;
  return {
    tenantId: formatId('ten', tenantId),
    name,
    status: finishedAt === null ? 'deleting' : 'deleted',
    requestedBy,
    requestedAt: requestedAt.toISOString(),
    ...(finishedAt === null ? {} : { finishedAt: finishedAt.toISOString() }),
    rows: { ...rows },
  };
}

/** The secrets that an account of this name keeps when a body does not give them. */
export async function keptSecrets(
  configs: Pick<TenantWrites, 'getAccount'>,
  tenantId: Parameters<TenantWrites['getAccount']>[0],
  name: string,
): Promise<readonly string[]> {
  return (await configs.getAccount(tenantId, name))?.secretNames ?? [];
}

export function tenantAnswer(row: TenantRow): Tenant {
  const { tenantId, name, status, limits, timeZone, version } = row;
  const id = formatId('ten', tenantId);
  return { id, name, status, limits: { ...limits }, timeZone, version, ...stampsOf(row) };
}

export function agentAnswer(row: AgentRow): Agent {
  const { agentId, name, version, settings, secretNames } = row;
  return {
    id: formatId('agt', agentId),
    name,
    version,
    ...completeAgent(settings),
    ...(settings.openai && { openai: { ...settings.openai, baseUrl: shownUrl(settings.openai.baseUrl) } }),
    keyPolicy: settings.keyPolicy as Agent['keyPolicy'],
    secretNames: [...secretNames],
    ...stampsOf(row),
  };
}

/** Queries are refused; those of older rows may hold a secret. */
function shownUrl(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

export function accountAnswer(row: AccountRow): Account {
  const { accountId, agentId, agentName, name, version, channel, options, secretNames, pausedUntil } = row;
  return {
    id: formatId('acc', accountId),
    name,
    version,
    agent: agentName,
    agentId: formatId('agt', agentId),
    channel,
    options: { ...options },
    secretNames: [...secretNames],
    ...(pausedUntil === null ? {} : { pausedUntil: pausedUntil.toISOString() }),
    ...stampsOf(row),
  };
}

/** `secret`: the token, when this answer is the one that shows it. */
export function keyAnswer(row: KeyRow, secret: string | null = null): Key {
  const { id, keyId, name, version, scopes, preset, createdAt, expiresAt, revokedAt, lastUsedAt } = row;
  return {
    id: formatId('key', id),
    keyId,
    name,
    version,
    scopes: [...scopes],
    ...(preset === null ? {} : { preset }),
    ...(secret === null ? {} : { secret }),
    createdAt: createdAt.toISOString(),
    ...(expiresAt === null ? {} : { expiresAt: expiresAt.toISOString() }),
    ...(revokedAt === null ? {} : { revokedAt: revokedAt.toISOString() }),
    ...(lastUsedAt === null ? {} : { lastUsedAt: lastUsedAt.toISOString() }),
  };
}

export function changeAnswer({ version, fields, ...change }: Change, secret?: string): ConfigChange {
  return {
    ...change,
    ...(version === null ? {} : { version }),
    ...(secret === undefined ? {} : { secret }),
    fields: [...fields],
  };
}

function stampsOf({ createdAt, updatedAt }: { readonly createdAt: Date; readonly updatedAt: Date }) {
  return { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

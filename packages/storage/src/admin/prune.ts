import type { ConfigChange, PutTenantOptions, TenantDraft } from '@turnkeeper/core';
import { sql } from 'kysely';
import { deleteAccount, selectAccounts } from './accounts.ts';
import { deleteAgent, selectAgents } from './agents.ts';
import { audited, type ChangeContext } from './change.ts';
import { selectKeys } from './keys.ts';

/** Takes away what the draft does not name, of the lists that are asked for. Accounts first: they hold their agents. */
export async function pruneParts(
  context: ChangeContext,
  draft: TenantDraft,
  lists: NonNullable<PutTenantOptions['prune']>,
): Promise<ConfigChange[]> {
  const { run, build, tenantId } = context;
  const without = { ...context, ifVersions: undefined };
  const changes: (ConfigChange | null)[] = [];
  if (lists.includes('accounts')) {
    for (const name of strangers(await run(selectAccounts(build, tenantId)), draft.accounts))
      changes.push(await deleteAccount(without, name));
  }
  if (lists.includes('agents')) {
    for (const name of strangers(await run(selectAgents(build, tenantId)), draft.agents))
      changes.push(await deleteAgent(without, name));
  }
  if (lists.includes('keys')) {
    const living = await run(selectKeys(build, tenantId).where('k.revoked_at', 'is', null));
    for (const name of strangers(living, draft.keys)) changes.push(await revokeKey(without, name));
  }
  return changes.filter((change) => change !== null);
}

interface Named {
  readonly name: string;
}

function strangers(there: readonly Named[], wanted: readonly Named[]): string[] {
  const names = new Set(wanted.map(({ name }) => name));
  return there.map(({ name }) => name).filter((name) => !names.has(name));
}

async function revokeKey(context: ChangeContext, name: string): Promise<ConfigChange> {
  const { run, build, tenantId } = context;
  const revoke = build
    .updateTable('tk.api_keys')
    .set({ revoked_at: sql<Date>`now()`, version: sql<number>`version + 1` })
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name);
  await run(revoke);
  return audited(context, { kind: 'key', name, result: 'deleted', version: null, fields: [] });
}

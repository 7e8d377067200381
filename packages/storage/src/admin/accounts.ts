import {
  type AccountDraft,
  type AccountId,
  type AccountRow,
  type AgentId,
  AppError,
  type ConfigChange,
  parseReference,
  type StoredAccount,
  type TenantId,
  type Written,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder, RowOf } from '../read/queries.ts';
import type { TenantSeal } from '../seal/sealing.ts';
import { selectAgents } from './agents.ts';
import {
  audited,
  type ChangeContext,
  checkVersion,
  fieldsOf,
  invalidConfig,
  refuseExisting,
  vanished,
} from './change.ts';

/** Accounts with the version that their pointer names. */
export function selectAccounts(build: QueryBuilder, tenantId: TenantId) {
  return build
    .selectFrom('tk.accounts as a')
    .innerJoin('tk.account_versions as v', (join) =>
      join
        .onRef('v.tenant_id', '=', 'a.tenant_id')
        .onRef('v.account_id', '=', 'a.id')
        .onRef('v.version', '=', 'a.version'),
    )
    .innerJoin('tk.agents as g', (join) =>
      join.onRef('g.tenant_id', '=', 'a.tenant_id').onRef('g.id', '=', 'a.agent_id'),
    )
    .leftJoin('tk.account_pauses as p', (join) =>
      join
        .onRef('p.tenant_id', '=', 'a.tenant_id')
        .onRef('p.account_id', '=', 'a.id')
        .on('p.until', '>', sql<Date>`clock_timestamp()`),
    )
    .select(['a.id', 'a.name', 'a.version', 'a.channel', 'a.agent_id', 'g.name as agent_name'])
    .select(['a.created_at', 'a.updated_at', 'v.config', 'v.secrets', 'p.until as paused_until'])
    .where('a.tenant_id', '=', tenantId)
    .where('a.deleted_at', 'is', null);
}

type Row = RowOf<typeof selectAccounts>;

export function accountOf(row: Row, seal: TenantSeal): AccountRow {
  return {
    accountId: row.id as AccountId,
    name: row.name,
    version: row.version,
    agentId: row.agent_id as AgentId,
    agentName: row.agent_name,
    channel: row.channel,
    options: row.config.options,
    secretNames: Object.keys(seal.open(row, row.secrets)),
    pausedUntil: row.paused_until,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** As `putAgent`. The channel of an account never changes. */
export async function putAccount(context: ChangeContext, draft: AccountDraft): Promise<Written<AccountRow>> {
  const { run, build, tenantId, seal, ids } = context;
  const { config, agentName } = await configOf(context, draft);
  const newId = ids.next();
  const [lock] = await run(insertOrLock(build, { id: newId, tenantId, name: draft.name, config }));
  const isNew = lock?.id === newId;
  const id = lock?.id ?? newId;
  if (!isNew && lock?.channel !== draft.channel) throw refuseChannel();
  const [current] = isNew ? [] : await run(selectAccounts(build, tenantId).where('a.id', '=', id));
  const known = current ? seal.open(current, current.secrets) : {};
  const secrets = { ...known, ...draft.secrets };
  checkVersion(context, current?.version ?? 0);
  const before = current ? { config: shownOf(current.config, current.agent_name), secrets: known } : null;
  const fields = fieldsOf(before, { config: shownOf(config, agentName), secrets });
  if (current && fields.length === 0)
    return { row: accountOf(current, seal), change: changeOf('unchanged', current, []) };
  if (current && context.mustBeNew) throw refuseExisting('account', fields);
  const version = isNew ? 1 : (lock?.version ?? 0) + 1;
  await run(
    build.insertInto('tk.account_versions').values({
      tenant_id: tenantId,
      account_id: id,
      version,
      config: JSON.stringify(config),
      secrets: seal.seal({ id, version }, secrets),
    }),
  );
  if (!isNew) await run(movePointer(build, tenantId, { id, version, agentId: config.agentId }));
  const [row] = await run(selectAccounts(build, tenantId).where('a.id', '=', id));
  if (!row) throw vanished();
  const change = await audited(context, changeOf(current ? 'updated' : 'created', row, fields));
  return { row: accountOf(row, seal), change };
}

/** Takes an account out of use. */
export async function deleteAccount(context: ChangeContext, reference: string): Promise<ConfigChange | null> {
  const { run, build, tenantId } = context;
  const named = parseReference(reference, 'acc');
  if (named === null) return null;
  const byReference = selectAccounts(build, tenantId).where(`a.${named.by}`, '=', named.value);
  const [row] = await run(byReference.forUpdate('a'));
  if (!row) return null;
  checkVersion(context, row.version);
  const deleted = { deleted_at: sql<Date>`now()`, updated_at: sql<Date>`now()` };
  await run(build.updateTable('tk.accounts').set(deleted).where('tenant_id', '=', tenantId).where('id', '=', row.id));
  return audited(context, changeOf('deleted', row, []));
}

/** Lets go what a platform asked to wait with. Null: no such account. */
export async function unpauseAccount(context: ChangeContext, reference: string): Promise<AccountRow | null> {
  const { run, build, ids, tenantId, seal, actor } = context;
  const named = parseReference(reference, 'acc');
  if (named === null) return null;
  const query = selectAccounts(build, tenantId).where(`a.${named.by}`, '=', named.value);
  const [known] = await run(query.forUpdate('a'));
  if (!known) return null;
  const lift = build.selectNoFrom(sql<boolean>`tk.unpause_account(${tenantId}::uuid, ${known.id}::uuid)`.as('lifted'));
  const [answer] = await run(lift);
  if (answer?.lifted === true) {
    const subject = `account:${known.name}`;
    const entry = { tenant_id: tenantId, id: ids.next(), actor, action: 'account.unpaused', subject, detail: '{}' };
    await run(build.insertInto('tk.audit').values(entry));
  }
  return accountOf({ ...known, paused_until: null }, seal);
}

/** As people see it: the agent by its name, as in their file. */
function shownOf({ agentId: _, ...config }: StoredAccount, agent: string): object {
  return { agent, ...config };
}

async function configOf(
  { run, build, tenantId }: ChangeContext,
  draft: AccountDraft,
): Promise<{ readonly config: StoredAccount; readonly agentName: string }> {
  const named = parseReference(draft.agent, 'agt');
  const [agent] =
    named === null
      ? []
      : await run(selectAgents(build, tenantId).where(`a.${named.by}`, '=', named.value).forUpdate('a'));
  if (!agent) throw invalidConfig('/agent', 'agent_not_found', 'The tenant has no agent of this name or id.');
  const config = { agentId: agent.id, channel: draft.channel, options: draft.options };
  return { config, agentName: agent.name };
}

interface NewAccount {
  readonly id: string;
  readonly tenantId: TenantId;
  readonly name: string;
  readonly config: StoredAccount;
}

function insertOrLock(build: QueryBuilder, { id, tenantId, name, config }: NewAccount) {
  return build
    .insertInto('tk.accounts')
    .values({ id, tenant_id: tenantId, name, agent_id: config.agentId, channel: config.channel, version: 1 })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'name']).doUpdateSet({ updated_at: sql<Date>`tk.accounts.updated_at` }),
    )
    .returning(['id', 'version', 'channel']);
}

interface Pointer {
  readonly id: string;
  readonly version: number;
  readonly agentId: string;
}

function movePointer(build: QueryBuilder, tenantId: TenantId, { id, version, agentId }: Pointer) {
  return build
    .updateTable('tk.accounts')
    .set({ version, agent_id: agentId, updated_at: sql<Date>`now()`, deleted_at: null })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id);
}

function refuseChannel(): AppError {
  return new AppError({
    code: 'cannot_change',
    message: 'The channel of an account cannot change. Make another account.',
    fields: [{ pointer: '/channel', code: 'cannot_change' }],
  });
}

function changeOf(result: ConfigChange['result'], row: Row, fields: Written<AccountRow>['change']['fields']) {
  return { kind: 'account', name: row.name, result, version: row.version, fields } as const;
}

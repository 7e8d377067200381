import {
  type AgentDraft,
  type AgentId,
  type AgentRow,
  AppError,
  type ConfigChange,
  hasResets,
  parseReference,
  type TenantId,
  type Written,
} from '@turnkeeper/core';
import { sql } from 'kysely';
import type { QueryBuilder, RowOf } from '../read/queries.ts';
import type { TenantSeal } from '../seal/sealing.ts';
import { agentSecrets } from './agent-secrets.ts';
import { audited, type ChangeContext, checkVersion, fieldsOf, refuseExisting, vanished } from './change.ts';

/** Agents with the version that their pointer names. */
export function selectAgents(build: QueryBuilder, tenantId: TenantId) {
  return build
    .selectFrom('tk.agents as a')
    .innerJoin('tk.agent_versions as v', (join) =>
      join
        .onRef('v.tenant_id', '=', 'a.tenant_id')
        .onRef('v.agent_id', '=', 'a.id')
        .onRef('v.version', '=', 'a.version'),
    )
    .select(['a.id', 'a.name', 'a.version', 'a.created_at', 'a.updated_at', 'v.config', 'v.secrets'])
    .where('a.tenant_id', '=', tenantId)
    .where('a.deleted_at', 'is', null);
}

type Row = RowOf<typeof selectAgents>;

export function agentOf(row: Row, seal: TenantSeal): AgentRow {
  return {
    agentId: row.id as AgentId,
    name: row.name,
    version: row.version,
    settings: row.config,
    secretNames: Object.keys(seal.open(row, row.secrets)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/**
 * Makes an agent, or adds a version to it and moves its pointer. The first statement creates the row or locks the one
 * there is, so that two changes of one agent come one after the other and both see what they change.
 */
export async function putAgent(context: ChangeContext, draft: AgentDraft): Promise<Written<AgentRow>> {
  const { run, build, tenantId, seal, ids } = context;
  const newId = ids.next();
  const [lock] = await run(insertOrLock(build, { id: newId, tenantId, name: draft.name }));
  const isNew = lock?.id === newId;
  const id = lock?.id ?? newId;
  const [current] = isNew ? [] : await run(selectAgents(build, tenantId).where('a.id', '=', id));
  checkVersion(context, current?.version ?? 0);
  const before = current ? { config: current.config, secrets: seal.open(current, current.secrets) } : null;
  const after = { config: draft.settings, secrets: agentSecrets(draft, before) };
  const fields = fieldsOf(before, after);
  if (current && fields.length === 0)
    return { row: agentOf(current, seal), change: changeOf('unchanged', current, []) };
  if (current && context.mustBeNew) throw refuseExisting('agent', fields);
  const version = isNew ? 1 : (lock?.version ?? 0) + 1;
  await run(
    build.insertInto('tk.agent_versions').values({
      tenant_id: tenantId,
      agent_id: id,
      version,
      config: JSON.stringify(after.config),
      secrets: seal.seal({ id, version }, after.secrets),
    }),
  );
  await run(movePointer(build, tenantId, { id, version, resets: hasResets(after.config) }));
  const [row] = await run(selectAgents(build, tenantId).where('a.id', '=', id));
  if (!row) throw vanished();
  const change = await audited(context, changeOf(current ? 'updated' : 'created', row, fields));
  return { row: agentOf(row, seal), change };
}

/** Takes an agent out of use. Its row is locked first, so that no account is given to it meanwhile. */
export async function deleteAgent(context: ChangeContext, reference: string): Promise<ConfigChange | null> {
  const { run, build, tenantId } = context;
  const named = parseReference(reference, 'agt');
  if (named === null) return null;
  const byReference = selectAgents(build, tenantId).where(`a.${named.by}`, '=', named.value);
  const [row] = await run(byReference.forUpdate('a'));
  if (!row) return null;
  checkVersion(context, row.version);
  const [account] = await run(accountsOf(build, tenantId, row.id));
  if (account) {
    throw new AppError({
      code: 'cannot_change',
      message: `The account ${account.name} is answered by the agent ${row.name}. Give it another agent, or delete it first.`,
    });
  }
  const deleted = { deleted_at: sql<Date>`now()`, updated_at: sql<Date>`now()` };
  await run(build.updateTable('tk.agents').set(deleted).where('tenant_id', '=', tenantId).where('id', '=', row.id));
  return audited(context, changeOf('deleted', row, []));
}

function accountsOf(build: QueryBuilder, tenantId: TenantId, agentId: string) {
  return build
    .selectFrom('tk.accounts')
    .select('name')
    .where('tenant_id', '=', tenantId)
    .where('agent_id', '=', agentId)
    .where('deleted_at', 'is', null)
    .limit(1);
}

function insertOrLock(build: QueryBuilder, { id, tenantId, name }: { id: string; tenantId: TenantId; name: string }) {
  return build
    .insertInto('tk.agents')
    .values({ id, tenant_id: tenantId, name, version: 1 })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'name']).doUpdateSet({ updated_at: sql<Date>`tk.agents.updated_at` }),
    )
    .returning(['id', 'version']);
}

interface Pointer {
  readonly id: string;
  readonly version: number;
  readonly resets: boolean;
}

function movePointer(build: QueryBuilder, tenantId: TenantId, { id, version, resets }: Pointer) {
  return build
    .updateTable('tk.agents')
    .set({ version, resets, updated_at: sql<Date>`now()`, deleted_at: null })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id);
}

function changeOf(result: ConfigChange['result'], row: Row, fields: Written<AgentRow>['change']['fields']) {
  return { kind: 'agent', name: row.name, result, version: row.version, fields } as const;
}

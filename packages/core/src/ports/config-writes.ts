import type { KeyPreset, Scope } from '../access/scopes.ts';
import type { FieldDifference } from '../configs/difference.ts';
import type { StoredAccount, StoredAgent } from '../configs/settings.ts';
import type { AccountId, AgentId, KeyRowId, TenantId } from '../ids.ts';
import type { TenantConfig, TenantLimits } from './configs.ts';
import type { Page, PageRequest } from './reads.ts';

/** Secrets by name. Those not named keep their value. */
export type SecretDrafts = Readonly<Record<string, string>>;

export interface AgentDraft {
  readonly name: string;
  readonly settings: StoredAgent;
  readonly secrets: SecretDrafts;
}

export interface AccountDraft {
  readonly name: string;
  /** Name or id of the agent that answers for it. */
  readonly agent: string;
  readonly channel: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly secrets: SecretDrafts;
}

export interface KeyDraft {
  readonly name: string;
  /** The whole token; null keeps the one there is, or makes one. */
  readonly token: string | null;
  readonly scopes: readonly Scope[];
  readonly preset: KeyPreset | null;
  readonly expiresAt: Date | null;
  readonly revoked: boolean;
}

export interface TenantDraft {
  readonly name: string;
  /** Null keeps what it is. */
  readonly status: 'active' | 'suspended' | null;
  /** Null keeps what they are; the defaults of a new tenant. */
  readonly limits: TenantLimits | null;
  readonly timeZone: string | null;
  readonly keys: readonly KeyDraft[];
  readonly agents: readonly AgentDraft[];
  readonly accounts: readonly AccountDraft[];
}

/** What became of one object. Values of secrets never stand in `fields`: their names do, without before and after. */
export interface ConfigChange {
  readonly kind: 'tenant' | 'key' | 'agent' | 'account';
  readonly name: string;
  readonly result: 'created' | 'updated' | 'unchanged' | 'deleted';
  /** Null for keys, which have none. */
  readonly version: number | null;
  readonly fields: readonly FieldDifference[];
}

interface Stamps {
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface TenantRow extends TenantConfig, Stamps {
  /** Counts changes of the tenant's own fields; its parts count theirs. */
  readonly version: number;
}

export interface AgentRow extends Stamps {
  readonly agentId: AgentId;
  readonly name: string;
  readonly version: number;
  readonly settings: StoredAgent;
  readonly secretNames: readonly string[];
}

export interface AccountRow extends Stamps {
  readonly accountId: AccountId;
  readonly name: string;
  readonly version: number;
  readonly agentId: AgentId;
  readonly agentName: string;
  readonly channel: string;
  readonly options: StoredAccount['options'];
  readonly secretNames: readonly string[];
  /** Its platform asked for a wait until then; null: nothing keeps replies from leaving. */
  readonly pausedUntil: Date | null;
}

export interface KeyRow {
  readonly id: KeyRowId;
  readonly keyId: string;
  readonly name: string;
  /** Raised by every change. */
  readonly version: number;
  readonly scopes: readonly string[];
  readonly preset: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** Who asks for a change, for the audit trail: `operator:<keyId>` or `key:<keyId>`. */
export type Actor = `operator:${string}` | `key:${string}`;

export interface WriteOptions {
  readonly actor: Actor;
  /** Refuse an object that is there and differs (`cannot_change`); one that is equal is answered as unchanged. */
  readonly mustBeNew?: boolean;
  /** Change only what is at one of these versions, else `version_conflict`; left out = whatever there is. */
  readonly ifVersions?: readonly number[] | undefined;
}

export interface Written<Row> {
  readonly row: Row;
  readonly change: ConfigChange;
}

/**
 * Configuration of one tenant, by name. Every put is one transaction: it changes the object and writes one audit row per
 * change, or nothing at all. An equal body changes nothing and makes no version. Versions never change; a change adds
 * one and moves the pointer. Two puts of one object come one after the other.
 * Every call: @throws StoreError; AppError `config_invalid` where the body cannot hold, `invalid_cursor`.
 */
export interface TenantWrites {
  putAgent(tenantId: TenantId, draft: AgentDraft, options: WriteOptions): Promise<Written<AgentRow>>;
  putAccount(tenantId: TenantId, draft: AccountDraft, options: WriteOptions): Promise<Written<AccountRow>>;
  /** By name, as all lists here. */
  listAgents(tenantId: TenantId, page: PageRequest): Promise<Page<AgentRow>>;
  listAccounts(tenantId: TenantId, page: PageRequest): Promise<Page<AccountRow>>;
  /** By name or public id. Another tenant's is answered like one that never was. */
  getAgent(tenantId: TenantId, reference: string): Promise<AgentRow | null>;
  getAccount(tenantId: TenantId, reference: string): Promise<AccountRow | null>;
  /**
   * Takes it out of use; what refers to it by id keeps its versions, and its name may be made again. Null: not there.
   * @throws AppError `version_conflict`, `cannot_change` for an agent that answers for an account
   */
  deleteAgent(tenantId: TenantId, reference: string, options: WriteOptions): Promise<ConfigChange | null>;
  deleteAccount(tenantId: TenantId, reference: string, options: WriteOptions): Promise<ConfigChange | null>;
  /** Ends the wait that its platform asked for, for operators. Null: not there. */
  unpauseAccount(tenantId: TenantId, reference: string, options: WriteOptions): Promise<AccountRow | null>;
}

/** A key as its tenant asks for it: the token is always made here. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly preset: KeyPreset | null;
  readonly expiresAt: Date | null;
}

/** What is left out stays. `revoked` cannot be taken back. */
export interface KeyChange {
  /** Name or public id. */
  readonly key: string;
  readonly grant?: Pick<NewKey, 'scopes' | 'preset'>;
  readonly expiresAt?: Date | null;
  readonly revoked?: true;
}

/** Keys of one tenant. As `TenantWrites`, but keys change in place. */
export interface KeyWrites {
  /** The token can never be read again. @throws AppError `cannot_change`: the name was used before, and names of keys are used once */
  createKey(
    tenantId: TenantId,
    draft: NewKey,
    options: WriteOptions,
  ): Promise<Written<KeyRow> & { readonly token: string }>;
  /** Null: not there. @throws AppError `version_conflict`, `cannot_change` for a key that was revoked */
  changeKey(tenantId: TenantId, change: KeyChange, options: WriteOptions): Promise<Written<KeyRow> | null>;
  /** By name; revoked and expired ones too. */
  listKeys(tenantId: TenantId, page: PageRequest): Promise<Page<KeyRow>>;
  getKey(tenantId: TenantId, reference: string): Promise<KeyRow | null>;
}

export interface PutTenantOptions {
  readonly actor: Actor;
  /** Say what would become of everything, and change nothing. No tokens are made. */
  readonly dryRun?: boolean;
  /** Lists whose other members go: agents and accounts are deleted, keys are revoked. */
  readonly prune?: readonly ('keys' | 'agents' | 'accounts')[];
  /** As of `WriteOptions`, about the tenant's own row; a tenant that is not there has none of them. */
  readonly ifVersions?: readonly number[] | undefined;
}

/** The deletion of a tenant: what was asked, and what was done when it is finished. */
export interface DeletionReceipt {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  /** Null while rows are left. */
  readonly finishedAt: Date | null;
  /** Rows deleted so far, by table. */
  readonly rows: Readonly<Record<string, number>>;
}

/** What only operators write: tenants with all their parts, and keys. As `TenantWrites`. */
export interface OperatorWrites {
  /** The tenant and its parts, all or nothing. `tokens`: those that were made here, by key name; they cannot be read again. */
  putTenant(
    draft: TenantDraft,
    options: PutTenantOptions,
  ): Promise<{ row: TenantRow; changes: readonly ConfigChange[]; tokens: ReadonlyMap<string, string> }>;
  /** `token`: the one that was made here. @throws AppError `config_invalid` when another key has this id */
  putKey(
    tenantId: TenantId,
    draft: KeyDraft,
    options: WriteOptions,
  ): Promise<Written<KeyRow> & { token: string | null }>;
  listTenants(page: PageRequest): Promise<Page<TenantRow>>;
  getTenant(reference: string): Promise<TenantRow | null>;
  /**
   * Ends a tenant: from now on it is `deleting`, its keys and hooks work no more, and the leader deletes all it has.
   * Again: the same receipt. Null: not there.
   */
  deleteTenant(reference: string, options: WriteOptions): Promise<DeletionReceipt | null>;
  /** By public id, also when nothing else is left; by name the newest deletion. */
  getReceipt(reference: string): Promise<DeletionReceipt | null>;
}

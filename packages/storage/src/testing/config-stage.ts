import {
  type AccountDraft,
  type AgentDraft,
  completeAgent,
  completeLimits,
  type KeyDraft,
  scopesOf,
  type TenantDraft,
  type TenantId,
} from '@turnkeeper/core';
import { SeededIds, VirtualClock } from '@turnkeeper/core/testing';
import { KeyStore } from '../admin/key-store.ts';
import { OperatorConfigStore } from '../admin/operator-config-store.ts';
import { TenantConfigStore } from '../admin/tenant-config-store.ts';
import { type Database, openDatabase, type Role } from '../database.ts';
import { type Configs, openConfigs } from '../lookup/configs.ts';
import { Sealing } from '../seal/sealing.ts';
import { serverKeyWrap } from '../seal/server-key.ts';
import { type FreshDatabase, freshDatabase } from './fresh-database.ts';

export const PEPPER = 'a pepper for tests';

/** The configuration stores over one database of its own. */
export class ConfigStage {
  readonly fresh: FreshDatabase;
  readonly databases: Readonly<Record<'api' | 'admin' | 'lookup', Database>>;
  readonly clock = new VirtualClock();
  readonly operator: OperatorConfigStore;
  /** As operators reach agents and accounts. */
  readonly admin: TenantConfigStore;
  /** As tenants do. */
  readonly own: TenantConfigStore;
  readonly ownKeys: KeyStore;
  readonly configs: Configs;

  constructor(fresh: FreshDatabase) {
    const open = (role: Role) =>
      openDatabase({
        url: fresh.url,
        role,
        poolMax: 4,
        applicationName: `test-${role}`,
        settings: { lock_timeout: 5000 },
      });
    const sealing = new Sealing(serverKeyWrap('5a'.repeat(32)));
    const ids = new SeededIds();
    this.fresh = fresh;
    this.databases = { api: open('tk_api'), admin: open('tk_admin'), lookup: open('tk_lookup') };
    this.operator = new OperatorConfigStore({ database: this.databases.admin, sealing, ids, pepper: PEPPER });
    this.admin = new TenantConfigStore({ database: this.databases.admin, sealing, ids });
    this.own = new TenantConfigStore({ database: this.databases.api, sealing, ids });
    this.ownKeys = new KeyStore({ database: this.databases.api, ids, pepper: PEPPER });
    this.configs = openConfigs({ database: this.databases.lookup, sealing, clock: this.clock });
  }

  async tenant(name: string, over: Partial<TenantDraft> = {}): Promise<TenantId> {
    const { row } = await this.operator.putTenant(tenantDraft(name, over), { actor: 'operator:test' });
    return row.tenantId;
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.databases).map((database) => database.close()));
    await this.fresh.drop();
  }
}

export async function openConfigStage(urls: { readonly postgres: string }): Promise<ConfigStage> {
  return new ConfigStage(await freshDatabase(urls));
}

export function tenantDraft(name: string, over: Partial<TenantDraft> = {}): TenantDraft {
  const limits = completeLimits({});
  return { name, status: null, limits, timeZone: 'UTC', keys: [], agents: [], accounts: [], ...over };
}

export function echoAgent(name: string, delayMs = 0): AgentDraft {
  return { name, settings: completeAgent({ runtime: 'echo', echo: { delayMs } }), secrets: {} };
}

export function modelAgent(name: string, secrets: AgentDraft['secrets']): AgentDraft {
  const openai = { baseUrl: 'http://127.0.0.1:9/v1', model: 'm' };
  return { name, settings: completeAgent({ runtime: 'openai', openai }), secrets };
}

export function hookAccount(name: string, over: Partial<AccountDraft> = {}): AccountDraft {
  return {
    name,
    agent: 'main',
    channel: 'webhook',
    options: { template: '{{text}}' },
    secrets: { secret: 's1' },
    ...over,
  };
}

export function keyDraft(name: string, over: Partial<KeyDraft> = {}): KeyDraft {
  const preset = 'developer';
  return { name, token: null, scopes: scopesOf(preset), preset, expiresAt: null, revoked: false, ...over };
}

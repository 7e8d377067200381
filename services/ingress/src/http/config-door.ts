import type { Actor, Clock, Ids, KeyWrites, PageRequest, Scope, TenantId, TenantWrites } from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT } from '@turnkeeper/protocol';
import type { FastifyRequest } from 'fastify';
import type { Access, Caller } from './access.ts';
import { NoQuerySchema, PageQuerySchema } from './pages.ts';
import { parseQuery } from './requests.ts';

/** Whose configuration a request is about, and who asks. */
export interface Asked {
  readonly tenantId: TenantId;
  readonly actor: Actor;
  /** What the caller may hand on to the keys it makes; null = everything. */
  readonly scopes: readonly string[] | null;
}

/** The two ways to a tenant's configuration: `/v1` for the tenant itself, `/admin/v1` with `?tenant=` for operators. */
export interface ConfigDoor {
  readonly prefix: '/v1' | '/admin/v1';
  readonly configs: TenantWrites;
  readonly keys: KeyWrites;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
  /** Runs before the body is read. */
  guard(scope: Scope): { readonly onRequest?: (request: FastifyRequest) => Promise<void> };
  /** @throws AppError for a query that is not the door's */
  asked(request: FastifyRequest): Promise<Asked>;
  /** As `asked`, for lists. */
  page(request: FastifyRequest): Promise<Asked & { readonly page: PageRequest }>;
}

export interface OwnConfigParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly configs: TenantWrites;
  readonly ownKeys: KeyWrites;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
}

/** The door of tenants. */
export function ownDoor({ access, configs, ownKeys, clock, ids }: OwnConfigParts): ConfigDoor {
  const askedBy = ({ key, tenant }: Caller): Asked => ({
    tenantId: tenant.tenantId,
    actor: `key:${key.keyId}`,
    scopes: key.scopes,
  });
  return {
    prefix: '/v1',
    configs,
    keys: ownKeys,
    clock,
    ids,
    guard: (scope) => ({ onRequest: access.requires(scope) }),
    asked: async (request) => {
      parseQuery(NoQuerySchema, request.query);
      return askedBy(access.callerOf(request));
    },
    page: async (request) => {
      const { limit = LIST_LIMIT_DEFAULT, cursor } = parseQuery(PageQuerySchema, request.query);
      return { ...askedBy(access.callerOf(request)), page: { limit, cursor } };
    },
  };
}

import {
  type AcceptMessage,
  type Actor,
  AppError,
  type Clock,
  type ClusterReads,
  type Ids,
  type JournalReads,
  type KeyWrites,
  type OperatorWrites,
  type ParkedEvents,
  type RunReads,
  type TenantConfigs,
  type TenantId,
  type TenantRow,
  type TenantWrites,
} from '@turnkeeper/core';
import { LIST_LIMIT_DEFAULT, ReferenceSchema } from '@turnkeeper/protocol';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Access } from '../access.ts';
import type { ConfigDoor } from '../config-door.ts';
import { found, NoQuerySchema, PageQuerySchema } from '../pages.ts';
import { parseQuery } from '../requests.ts';

export interface AdminParts {
  readonly access: Pick<Access, 'operator'>;
  /** Tenants and keys. */
  readonly operator: OperatorWrites;
  /** Agents and accounts of any tenant. */
  readonly configs: TenantWrites;
  readonly keys: KeyWrites;
  readonly cluster: ClusterReads;
  readonly parked: ParkedEvents;
  readonly journal: JournalReads;
  readonly tenants: Pick<TenantConfigs, 'get'>;
  readonly runs: Pick<RunReads, 'get'>;
  readonly acceptMessage: Pick<AcceptMessage, 'replay'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
}

/** For the audit trail. */
export async function actorOf(request: FastifyRequest, { access }: AdminParts): Promise<Actor> {
  return `operator:${(await access.operator(request)).keyId}`;
}

/** @throws AppError `not_found` for a tenant that is not there */
export async function tenantIdOf(
  reference: string | undefined,
  { operator }: AdminParts,
): Promise<TenantId | undefined> {
  if (reference === undefined) return undefined;
  return found(await operator.getTenant(reference), 'not_found', 'tenant').tenantId;
}

const InTenant = { tenant: ReferenceSchema.optional() };
const InTenantSchema = NoQuerySchema.extend(InTenant);
const PageInTenantSchema = PageQuerySchema.extend(InTenant);

/**
 * The query of a route below one tenant, and that tenant.
 * @throws AppError `missing_field` without `?tenant=`, `not_found` for one that is not there
 */
async function queryInTenant<Schema extends z.ZodType<{ readonly tenant?: string | undefined }>>(
  request: FastifyRequest,
  schema: Schema,
  { operator }: AdminParts,
): Promise<{ readonly query: z.output<Schema>; readonly tenant: TenantRow }> {
  const query = parseQuery(schema, request.query);
  if (query.tenant === undefined) {
    throw new AppError({
      code: 'missing_field',
      message: 'say which tenant: ?tenant=<name or id>',
      fields: [{ pointer: '/tenant', code: 'missing_field' }],
    });
  }
  return { query, tenant: found(await operator.getTenant(query.tenant), 'not_found', 'tenant') };
}

/** The door of operators: any tenant, named by the query. */
export function operatorDoor(parts: AdminParts): ConfigDoor {
  const asked = async (request: FastifyRequest, tenant: TenantRow) => ({
    tenantId: tenant.tenantId,
    actor: await actorOf(request, parts),
    scopes: null,
  });
  return {
    prefix: '/admin/v1',
    configs: parts.configs,
    keys: parts.keys,
    clock: parts.clock,
    ids: parts.ids,
    guard: () => ({}),
    asked: async (request) => asked(request, (await queryInTenant(request, InTenantSchema, parts)).tenant),
    page: async (request) => {
      const { query, tenant } = await queryInTenant(request, PageInTenantSchema, parts);
      const { limit = LIST_LIMIT_DEFAULT, cursor } = query;
      return { ...(await asked(request, tenant)), page: { limit, cursor } };
    },
  };
}

import type { HttpErrorCode, Scope } from '@turnkeeper/core';
import type { z } from 'zod';
import * as configuration from '../http/configuration.ts';
import { NameSchema, NoQuerySchema, PageQuerySchema, ReferenceSchema } from '../http/fields.ts';
import type { Operation } from './operation.ts';

const { AgentSchema, AccountSchema, KeySchema, ConfigChangeSchema } = configuration;

/** The thing, and what the call made of it. */
export function changed<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>) {
  return schema.extend({ changes: ConfigChangeSchema.array() });
}

/** Operators name the tenant. */
const inTenant = (query: z.ZodObject) => query.extend({ tenant: ReferenceSchema });

interface Resource {
  readonly noun: 'agent' | 'account' | 'key';
  readonly scope: Scope;
  readonly list: z.ZodType;
  readonly one: z.ZodObject;
  readonly make: z.ZodType;
  readonly patch: z.ZodType;
  readonly put: z.ZodType;
  readonly missing: HttpErrorCode;
}

/** Agents, accounts and keys. */
export const RESOURCES: readonly Resource[] = [
  {
    noun: 'agent',
    scope: 'agents:write',
    list: configuration.AgentListSchema,
    one: AgentSchema,
    make: configuration.AgentBodySchema.safeExtend({ name: NameSchema }),
    patch: configuration.AgentPatchSchema,
    put: configuration.AgentBodySchema,
    missing: 'agent_not_found',
  },
  {
    noun: 'account',
    scope: 'accounts:write',
    list: configuration.AccountListSchema,
    one: AccountSchema,
    make: configuration.AccountBodySchema.safeExtend({ name: NameSchema }),
    patch: configuration.AccountPatchSchema,
    put: configuration.AccountBodySchema,
    missing: 'account_not_found',
  },
  {
    noun: 'key',
    scope: 'keys:write',
    list: configuration.KeyListSchema,
    one: KeySchema,
    make: configuration.NewKeySchema,
    patch: configuration.KeyPatchSchema,
    put: configuration.KeyBodySchema,
    missing: 'not_found',
  },
];

/** The same calls at both doors; operators have PUT besides. */
export function resourceOperations(of: Resource, isOperator: boolean): Operation[] {
  const { noun, missing } = of;
  const capital = noun.charAt(0).toUpperCase() + noun.slice(1);
  const prefix = isOperator ? 'admin' : '';
  const list = `${isOperator ? '/admin' : ''}/v1/${noun}s`;
  const one = `${list}/{${noun}}`;
  const scoped = (query: z.ZodObject) => (isOperator ? inTenant(query) : query);
  const door = isOperator ? ('operator' as const) : of.scope;
  const shared = { door, query: scoped(NoQuerySchema) };
  const known = { ...shared, path: one, versioned: true, errors: [missing] } as const;
  const id = (verb: string) =>
    prefix === '' ? `${verb}${capital}` : `${prefix}${verb.charAt(0).toUpperCase()}${verb.slice(1)}${capital}`;
  const made = changed(of.one);
  return [
    {
      ...shared,
      method: 'get',
      path: list,
      id: `${id('list')}s`,
      summary: `List ${noun}s by name`,
      query: scoped(PageQuerySchema),
      answers: { 200: of.list },
    },
    {
      ...shared,
      method: 'post',
      path: list,
      id: id('create'),
      summary: `Make ${noun === 'key' ? 'a' : 'an'} ${noun}`,
      body: of.make,
      answers: noun === 'key' ? { 201: made } : { 200: made, 201: made },
      errors: ['cannot_change', 'config_invalid'],
    },
    {
      ...known,
      method: 'get',
      id: id('get'),
      summary: `Read ${noun === 'key' ? 'a' : 'an'} ${noun}`,
      answers: { 200: of.one },
    },
    {
      ...known,
      method: 'patch',
      id: id('update'),
      summary: `Change ${noun === 'key' ? 'a' : 'an'} ${noun} by merge patch`,
      body: of.patch,
      answers: { 200: made },
      errors: [missing, 'version_conflict', 'cannot_change', 'config_invalid'],
    },
    {
      ...known,
      method: 'delete',
      id: id('delete'),
      summary: noun === 'key' ? 'Revoke a key' : `Delete an ${noun}`,
      answers: { 204: null },
      errors: [missing, 'version_conflict', 'cannot_change'],
    },
    ...(isOperator
      ? [
          {
            ...known,
            method: 'put' as const,
            id: id('put'),
            summary: `Bring ${noun === 'key' ? 'a' : 'an'} ${noun} to the body`,
            body: of.put,
            answers: { 200: made, 201: made },
            errors: ['version_conflict', 'cannot_change', 'config_invalid'] as const,
          },
        ]
      : []),
  ];
}

import type { HttpErrorCode } from '@turnkeeper/core';
import { z } from 'zod';
import { HTTP_ERRORS } from '../errors.ts';
import { CompletionErrorSchema } from '../http/chat-completions.ts';
import { ProblemSchema } from '../http/problem.ts';
import type { Answer, Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 document of the whole HTTP API, made from the table of operations and the schemas of the routes. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationOf(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Turnkeeper',
      version: '1',
      description:
        'One conversation, one turn at a time, in order, durable. `/admin/v1` and `/metrics` listen on a second, internal port.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        tenantKey: { type: 'http', scheme: 'bearer', description: 'A key of a tenant: `tk_…`' },
        clientToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of a visitor, for its own rooms: from `/v1/client-tokens`, or a JWT of a web chat account',
        },
        operatorKey: { type: 'http', scheme: 'bearer', description: 'A key of an operator: `tkop_…`' },
      },
      schemas: {
        Problem: jsonSchema(ProblemSchema, 'output'),
        CompletionError: jsonSchema(CompletionErrorSchema, 'output'),
      },
    },
  };
}

function operationOf(operation: Operation): Json {
  const { id, summary, door, body, answers } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId: id,
    summary,
    ...(door === 'open' || door === 'signature' || door === 'operator'
      ? {}
      : { description: `Needs the scope \`${door}\`.` }),
    security: securityOf(operation),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: bodyContentOf(body) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(operation, answer)])),
      ...Object.fromEntries(problemsOf(operation)),
    },
  };
}

/** OpenAPI 3.1: for keys the list names the roles, here scopes, that are needed. */
function securityOf({ door, visitors }: Operation): Json[] {
  if (door === 'open' || door === 'signature') return [];
  const keys = door === 'operator' ? { operatorKey: [] } : { tenantKey: [door] };
  return [keys, ...(visitors ? [{ clientToken: [] }] : [])];
}

function parametersOf({ path, query, headers: own = [], versioned, idempotent, method, answers }: Operation): Json[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const inPath = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !(schema as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }));
  const header = (name: string) => ({ name, in: 'header', schema: { type: 'string' } });
  const headers = [
    ...(versioned && method !== 'get' ? [header('If-Match')] : []),
    ...(idempotent ? [header('Idempotency-Key')] : []),
    ...own.map(header),
    ...(method === 'get' && answers[200] === 'events' ? [header('Last-Event-ID')] : []),
  ];
  return [...inPath, ...inQuery, ...headers];
}

function answerOf({ versioned }: Operation, answer: Operation['answers'][number]): Json {
  const all: readonly Answer[] = isSeveral(answer) ? answer : [answer];
  const contents = all.flatMap((one) => contentOf(one) ?? []);
  const content = contents.length === 0 ? null : Object.assign({}, ...contents);
  const headers = versioned && answer !== null ? { headers: { ETag: { schema: { type: 'string' } } } } : {};
  return { description: answer === null ? 'Done' : 'The answer', ...headers, ...(content && { content }) };
}

function bodyContentOf(body: NonNullable<Operation['body']>): Json {
  if (body === 'bytes') return BYTES;
  return { 'application/json': { schema: jsonSchema(body, 'input') } };
}

const BYTES: Json = { '*/*': { schema: { type: 'string', format: 'binary' } } };

function isSeveral(answer: Operation['answers'][number]): answer is readonly Answer[] {
  return Array.isArray(answer);
}

function contentOf(answer: Answer): Json | null {
  if (answer === null) return null;
  if (answer === 'bytes') return BYTES;
  if (answer === 'text') return { 'text/plain': { schema: { type: 'string' } } };
  if (answer === 'events') return { 'text/event-stream': { schema: { type: 'string' } } };
  return { 'application/json': { schema: jsonSchema(answer, 'output') } };
}

/** Any route may say these. */
const ALWAYS: readonly HttpErrorCode[] = ['unsupported_param', 'store_unavailable', 'overloaded', 'draining'];
const WITH_KEY: readonly HttpErrorCode[] = ['unauthenticated', 'key_expired', 'key_revoked'];
const OF_TENANT: readonly HttpErrorCode[] = ['tenant_suspended', 'scope_missing', 'rate_limited'];
const OF_VISITORS: readonly HttpErrorCode[] = ['token_expired', 'origin_not_allowed'];
/** What may change something takes a body, if only an empty one. */
const WITH_BODY: readonly HttpErrorCode[] = ['invalid_json', 'invalid_field', 'unknown_field', 'body_too_large'];

/** One entry per status, naming its codes; `x-codes` does so for programs. */
function problemsOf(operation: Operation): [string, Json][] {
  if (operation.door === 'open') return [['4XX', problem('Refused')]];
  const refusal = operation.refusals === 'openai' ? completionError : problem;
  const codes = new Set([
    ...ALWAYS,
    ...codesOfDoor(operation),
    ...(operation.visitors ? OF_VISITORS : []),
    ...codesOfRequest(operation),
    ...(operation.errors ?? []),
  ]);
  const byStatus = Map.groupBy(codes, (code) => String(HTTP_ERRORS[code].status));
  return [...byStatus].map(([status, names]) => [
    status,
    { ...refusal(names.map((name) => `\`${name}\``).join(', ')), 'x-codes': names },
  ]);
}

function codesOfDoor({ door }: Operation): readonly HttpErrorCode[] {
  if (door === 'signature') return ['signature_invalid', 'signature_stale', 'not_found'];
  return door === 'operator' ? [...WITH_KEY, 'not_found'] : [...WITH_KEY, ...OF_TENANT];
}

function codesOfRequest({ body, idempotent, method, path, query }: Operation): readonly HttpErrorCode[] {
  const parameters = Object.entries(query?.shape ?? {});
  const names = parameters.map(([name]) => name);
  const needsOne = parameters.some(([, schema]) => !(schema as z.ZodType).safeParse(undefined).success);
  return [
    ...(names.includes('limit') ? (['invalid_limit'] as const) : []),
    ...(names.includes('cursor') ? (['invalid_cursor'] as const) : []),
    ...(names.includes('sessionKey') ? (['malformed_key'] as const) : []),
    ...(method === 'get' ? [] : WITH_BODY),
    ...(body !== undefined || needsOne ? (['missing_field'] as const) : []),
    ...(idempotent ? (['idempotency_mismatch'] as const) : []),
    // a part of the path that cannot be read
    ...(path.includes('{') ? (['not_found'] as const) : []),
  ];
}

function problem(description: string): Json {
  return { description, content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
}

function completionError(description: string): Json {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/CompletionError' } } } };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bodyFaults, inWords, queryFaults } from './refusal.ts';
import { RunListQuerySchema, RunQuerySchema } from './runs.ts';
import { SearchQuerySchema } from './search.ts';

const Schema = z.strictObject({
  name: z.string(),
  nested: z.strictObject({ 'a/b~c': z.int() }).optional(),
  list: z.array(z.strictObject({ id: z.string() })).optional(),
  key: z
    .string()
    .refine((key) => key !== '', { params: { code: 'malformed_key' } })
    .optional(),
  odd: z
    .string()
    .refine(() => false, { params: { code: 'no_such_code' } })
    .optional(),
});

function faultsOf(body: unknown) {
  const { error } = Schema.safeParse(body);
  return error === undefined ? [] : bodyFaults(error, body);
}

describe('bodyFaults', () => {
  it.each([
    [{}, '/name', 'missing_field'],
    [{ name: undefined }, '/name', 'missing_field'],
    [{ name: null }, '/name', 'invalid_field'],
    [{ name: 'a', nested: { 'a/b~c': 'x' } }, '/nested/a~1b~0c', 'invalid_field'],
    [{ name: 'a', nested: {} }, '/nested/a~1b~0c', 'missing_field'],
    [{ name: 'a', list: [{ id: 'b' }, {}] }, '/list/1/id', 'missing_field'],
    [{ name: 'a', nested: { 'a/b~c': 1, x: 1 } }, '/nested/x', 'unknown_field'],
    [{ name: 'a', key: '' }, '/key', 'malformed_key'],
    [{ name: 'a', odd: 'b' }, '/odd', 'invalid_field'],
    ['text', '', 'invalid_field'],
  ])('%j → %s %s', (body, pointer, code) =>
    expect(faultsOf(body)).toEqual([{ pointer, code, why: expect.any(String) }]),
  );

  it('names every place that is wrong', () => {
    expect(faultsOf({ name: 1, x: 1, y: 2 })).toMatchObject([
      { pointer: '/name', code: 'invalid_field' },
      { pointer: '/x', code: 'unknown_field' },
      { pointer: '/y', code: 'unknown_field' },
    ]);
  });
});

describe('queryFaults', () => {
  it.each([
    [{ limit: '0' }, 'invalid_limit'],
    [{ limit: '201' }, 'invalid_limit'],
    [{ limit: ['1', '2'] }, 'invalid_limit'],
    [{ cursor: 'a b' }, 'invalid_cursor'],
    [{ status: 'fine' }, 'unsupported_param'],
    [{ color: 'red' }, 'unsupported_param'],
    [{ sessionKey: '\u0000' }, 'malformed_key'],
    [{ agentId: '' }, 'unsupported_param'],
  ])('%j → %s', (query, code) => {
    const { error } = RunListQuerySchema.safeParse(query);
    expect(error === undefined ? [] : queryFaults(error, query)).toMatchObject([
      { pointer: `/${Object.keys(query)[0]}`, code },
    ]);
  });
});

describe('inWords', () => {
  const toldOf = (schema: z.ZodType, query: object) => {
    const { error } = schema.safeParse(query, { error: inWords });
    return error === undefined ? [] : queryFaults(error, query).map(({ code, why }) => `${code}: ${why}`);
  };

  it('says of a query what may stand there', () => {
    expect(toldOf(SearchQuerySchema, {})).toEqual(['missing_field: is missing']);
    expect(toldOf(SearchQuerySchema, { q: '' })).toEqual(['unsupported_param: must not be empty']);
    expect(toldOf(RunListQuerySchema, { limit: '1000' })).toEqual(['invalid_limit: must be a whole number, 1–200']);
    expect(toldOf(RunListQuerySchema, { status: 'fine' })[0]).toMatch(/: must be one of queued, running, /);
    expect(toldOf(RunQuerySchema, { wait: '100' })).toEqual(['unsupported_param: must be whole seconds, 0–55']);
  });

  it.each([
    [{ name: 1 }, 'must be a text'],
    [{ name: 'a', nested: { 'a/b~c': 1.5 } }, 'must be a whole number'],
    [{ name: 'a', list: {} }, 'must be a list'],
    [null, 'must be an object'],
  ])('of the body %j', (body, why) => {
    const { error } = Schema.safeParse(body, { error: inWords });
    expect(error === undefined ? [] : bodyFaults(error, body)).toMatchObject([{ why }]);
  });
});

import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../packages/protocol/src/index.ts';
import { documentBreaks } from './openapi/document-breaks.ts';
import type { Json } from './openapi/schema-breaks.ts';

const KIND = { type: 'string', enum: ['a', 'b'] };
const REQUEST = {
  type: 'object',
  properties: { text: { type: 'string', maxLength: 10 }, kind: KIND, one: { anyOf: [KIND, { type: 'number' }] } },
  required: ['text'],
  additionalProperties: false,
};
const ANSWER = {
  type: 'object',
  properties: { id: { type: 'string' }, at: { type: 'string' }, items: { type: 'array', items: KIND } },
  required: ['id'],
  additionalProperties: false,
};
const QUERY = [{ name: 'limit', in: 'query', required: false, schema: { type: 'integer', minimum: 1, maximum: 200 } }];

interface Change {
  readonly request?: object;
  readonly answer?: object;
  readonly query?: readonly object[];
  readonly operation?: object;
  readonly answers?: object;
}

function documentWith({ request, answer, query = QUERY, operation, answers }: Change = {}): Json {
  const json = (schema: object) => ({ content: { 'application/json': { schema } } });
  const post = {
    security: [{ tenantKey: ['messages:write'] }],
    parameters: query,
    requestBody: { required: true, ...json({ ...REQUEST, ...request }) },
    responses: { 200: json({ ...ANSWER, ...answer }), 404: json({ $ref: '#/components/schemas/Problem' }), ...answers },
    ...operation,
  };
  return { paths: { '/v1/x': { post } }, components: { schemas: { Problem: { type: 'object' } } } };
}

const requestWith = (properties: object) => ({ request: { properties: { ...REQUEST.properties, ...properties } } });
const answerWith = (properties: object) => ({ answer: { properties: { ...ANSWER.properties, ...properties } } });

describe('a break is told in a line', () => {
  const at = 'POST /v1/x';
  const breaks: readonly (readonly [string, Change, string])[] = [
    [
      'a removed request field',
      { request: { properties: { text: { type: 'string' } } } },
      `${at} request /kind: removed`,
    ],
    ['a newly required field', { request: { required: ['text', 'kind'] } }, `${at} request /kind: now required`],
    ['a narrowed enum', requestWith({ kind: { type: 'string', enum: ['a'] } }), `${at} request /kind: no longer b`],
    ['a new enum', requestWith({ text: { type: 'string', maxLength: 10, enum: ['x'] } }), 'any value → x'],
    ['a narrowed type', requestWith({ kind: { type: 'number' } }), `${at} request /kind: type string → number`],
    ['a lower upper bound', requestWith({ text: { type: 'string', maxLength: 9 } }), '/text: maxLength 10 → 9'],
    ['a new lower bound', requestWith({ text: { type: 'string', maxLength: 10, minLength: 1 } }), 'minLength none → 1'],
    ['a new pattern', requestWith({ text: { type: 'string', maxLength: 10, pattern: 'x' } }), 'pattern none → x'],
    ['an alternative less', requestWith({ one: KIND }), `${at} request /one: type number → string`],
    ['a removed answer field', { answer: { properties: { id: { type: 'string' } } } }, `${at} 200 /at: removed`],
    ['an answer field that may be absent', { answer: { required: [] } }, `${at} 200 /id: may now be absent`],
    ['an answer of another type', answerWith({ at: { type: ['string', 'null'] } }), '/at: type string → string|null'],
    [
      'an item that is never said',
      answerWith({ items: { type: 'array', items: { type: 'string', enum: ['a'] } } }),
      `${at} 200 /items/[]: no longer b`,
    ],
    ['a removed parameter', { query: [] }, `${at} query limit: removed`],
    [
      'a narrowed parameter',
      { query: [{ ...QUERY[0], schema: { type: 'integer', minimum: 1, maximum: 100 } }] },
      'query limit: maximum 200 → 100',
    ],
    [
      'a new required parameter',
      { query: [...QUERY, { name: 'q', in: 'query', required: true, schema: {} }] },
      `${at} query q: new and required`,
    ],
    ['another scope', { operation: { security: [{ tenantKey: ['keys:write'] }] } }, 'no longer opens it'],
    ['a removed body', { operation: { requestBody: undefined } }, `${at} request: body removed`],
    [
      'a removed media type',
      { answers: { 200: { content: { 'text/plain': {} } } } },
      `${at} 200: application/json removed`,
    ],
  ];
  it.for(breaks)('%s', ([, change, line]) => {
    const found = documentBreaks(documentWith(), documentWith(change));
    expect(found.join('\n')).toContain(line);
    expect(found.length).toBeGreaterThan(0);
  });

  it('removed paths, operations and statuses', () => {
    const before = documentWith();
    expect(documentBreaks(before, { paths: {} })).toEqual(['/v1/x: path removed']);
    expect(documentBreaks(before, { paths: { '/v1/x': {} } })).toEqual(['POST /v1/x: operation removed']);
    const operation = { responses: { 200: { content: { 'application/json': { schema: ANSWER } } } } };
    expect(documentBreaks(before, documentWith({ operation }))).toEqual(['POST /v1/x 404: status removed']);
  });

  it('a removed field of what a reference names', () => {
    const problem = (properties: object) => ({
      ...documentWith(),
      components: { schemas: { Problem: { type: 'object', properties } } },
    });
    expect(documentBreaks(problem({ code: { type: 'string' } }), problem({}))).toEqual([
      'POST /v1/x 404 /code: removed',
    ]);
  });
});

describe('growth breaks nothing', () => {
  const additions: readonly (readonly [string, Change])[] = [
    ['nothing', {}],
    ['an optional request field', requestWith({ more: { type: 'string' } })],
    ['a request value more', requestWith({ kind: { type: 'string', enum: ['a', 'b', 'c'] } })],
    ['a wider bound', requestWith({ text: { type: 'string', maxLength: 11 } })],
    ['a bound less', requestWith({ text: { type: 'string' } })],
    ['a number for an integer', { query: [{ ...QUERY[0], schema: { type: 'number', minimum: 0, maximum: 200 } }] }],
    ['an alternative more', requestWith({ one: { anyOf: [{ type: 'number' }, { type: 'null' }, KIND] } })],
    ['a field no longer required', { request: { required: [] } }],
    ['an answer field', answerWith({ more: { type: 'string' } })],
    [
      'an answer value more',
      answerWith({ items: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } } }),
    ],
    ['an answer field that is always there now', { answer: { required: ['id', 'at'] } }],
    ['an optional parameter', { query: [...QUERY, { name: 'q', in: 'query', required: false, schema: {} }] }],
    ['a status', { answers: { 409: {} } }],
    ['a credential more', { operation: { security: [{ tenantKey: ['messages:write'] }, { clientToken: [] }] } }],
  ];
  it.for(additions)('%s', ([, change]) => {
    expect(documentBreaks(documentWith(), documentWith(change))).toEqual([]);
  });

  it('the whole document keeps its own promises', () => {
    expect(documentBreaks(openApiDocument(), openApiDocument())).toEqual([]);
  });
});

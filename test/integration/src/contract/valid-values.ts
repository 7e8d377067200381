import fc from 'fast-check';
import type { Json } from './api-contract.ts';

type Values = fc.Arbitrary<unknown>;

const LENGTH_MAX = 24;
const ITEMS_MAX = 3;

/** Values that a JSON Schema of the document allows. Rules that only the code knows may still refuse some of them. */
export function validValues(schema: Json): Values {
  const union = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(union)) return fc.oneof(...union.map((one) => validValues(one as Json)));
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  switch (type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.integer({ min: bound(schema, 'minimum', 0), max: bound(schema, 'maximum', 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min: bound(schema, 'minimum', 0), max: bound(schema, 'maximum', 1e9), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(validValues((schema['items'] ?? {}) as Json), {
        minLength: bound(schema, 'minItems', 0),
        maxLength: Math.min(bound(schema, 'maxItems', ITEMS_MAX), ITEMS_MAX),
      });
    case 'object':
      return objects(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function bound(schema: Json, name: string, otherwise: number): number {
  const value = schema[name];
  return typeof value === 'number' ? Math.max(Math.min(value, 2 ** 31 - 1), -(2 ** 31)) : otherwise;
}

function texts(schema: Json): Values {
  if (schema['format'] === 'date-time') {
    return fc
      .date({ min: new Date('2000-01-01'), max: new Date('2099-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (schema['format'] === 'uri') return fc.constantFrom('http://127.0.0.1:9/v1', 'https://example.org/hook?x=1');
  if (schema['format'] === 'uuid') return fc.uuid();
  if (typeof schema['pattern'] === 'string') return fc.stringMatching(new RegExp(schema['pattern']), { size: '-1' });
  const minLength = bound(schema, 'minLength', 0);
  const maxLength = Math.max(minLength, Math.min(bound(schema, 'maxLength', LENGTH_MAX), LENGTH_MAX));
  return fc.string({ minLength, maxLength });
}

function objects(schema: Json): Values {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  const model = Object.fromEntries(properties.map(([name, one]) => [name, validValues(one)]));
  const required = (schema['required'] ?? []) as string[];
  const known = fc.record(model, { requiredKeys: required.filter((name) => name in model) });
  const further = schema['additionalProperties'];
  if (typeof further !== 'object' || further === null) return known;
  const names = validValues((schema['propertyNames'] ?? { type: 'string' }) as Json).map(String);
  const more = fc.dictionary(names, validValues(further as Json), { maxKeys: ITEMS_MAX });
  return fc.tuple(known, more).map(([one, other]) => ({ ...other, ...one }));
}

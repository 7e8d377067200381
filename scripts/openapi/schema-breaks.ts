/** What a JSON Schema is read as here. */
export type Json = Readonly<Record<string, unknown>>;

/** `request`: we read it, so what was taken before must be taken still. `response`: clients read it. */
export type Side = 'request' | 'response';

export interface SchemaPair {
  readonly side: Side;
  /** Where it stands, for people: `request /text`. */
  readonly at: string;
  readonly before: Json;
  readonly after: Json;
}

const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const SHAPES = ['pattern', 'format'];

/** One line for each way in which `after` breaks clients of `before`. Both are free of `$ref`. */
export function schemaBreaks(pair: SchemaPair): string[] {
  if (alternativesOf(pair.before).length > 1 || alternativesOf(pair.after).length > 1) return unionBreaks(pair);
  return [...typeBreaks(pair), ...valueBreaks(pair), ...boundBreaks(pair), ...fieldBreaks(pair), ...partBreaks(pair)];
}

export function jsonOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function alternativesOf(schema: Json): Json[] {
  const union = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(union) ? union.map(jsonOf) : [schema];
}

/** Requests: each alternative of before must still be taken. Responses: each of after must have been there. */
function unionBreaks({ side, at, before, after }: SchemaPair): string[] {
  const [owed, offered] =
    side === 'request'
      ? [alternativesOf(before), alternativesOf(after)]
      : [alternativesOf(after), alternativesOf(before)];
  return owed.flatMap((one) => {
    const tries = offered.map((other) =>
      schemaBreaks(
        side === 'request' ? { side, at, before: one, after: other } : { side, at, before: other, after: one },
      ),
    );
    return tries.reduce(
      (best, next) => (next.length < best.length ? next : best),
      tries[0] ?? [`${at}: no alternative`],
    );
  });
}

function typeBreaks({ side, at, before, after }: SchemaPair): string[] {
  const [known, now] = [typesOf(before), typesOf(after)];
  const [owed, offered] = side === 'request' ? [known, now] : [now, known];
  const covered = (type: string) => offered.has(type) || (type === 'integer' && offered.has('number'));
  const isOpen = offered.size === 0;
  if (isOpen || (owed.size > 0 && [...owed].every(covered))) return [];
  return [`${at}: type ${tell([...known])} → ${tell([...now])}`];
}

function typesOf({ type, ...schema }: Json): Set<string> {
  const named = [type ?? []].flat().map(String);
  return new Set(named.length > 0 ? named : (valuesOf(schema) ?? []).map(typeOfValue));
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function valuesOf(schema: Json): unknown[] | null {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}

/** A value that answers never have any more breaks comparisons in typed clients; new ones are growth. */
function valueBreaks({ at, before, after }: SchemaPair): string[] {
  const [known, now] = [valuesOf(before), valuesOf(after)];
  if (now === null) return [];
  if (known === null) return [`${at}: any value → ${tell(now)}`];
  const lost = known.filter((value) => !now.includes(value));
  return lost.length === 0 ? [] : [`${at}: no longer ${tell(lost)}`];
}

function boundBreaks({ side, at, before, after }: SchemaPair): string[] {
  if (side === 'response') return [];
  const changed = (name: string) => `${at}: ${name} ${tell(before[name])} → ${tell(after[name])}`;
  const limit = (schema: Json, name: string, open: number) => Number(schema[name] ?? open);
  return [
    ...LOWER_BOUNDS.filter((name) => limit(after, name, -Infinity) > limit(before, name, -Infinity)).map(changed),
    ...UPPER_BOUNDS.filter((name) => limit(after, name, Infinity) < limit(before, name, Infinity)).map(changed),
    ...SHAPES.filter((name) => after[name] !== undefined && after[name] !== before[name]).map(changed),
  ];
}

function fieldBreaks({ side, at, before, after }: SchemaPair): string[] {
  const [known, now] = [jsonOf(before['properties']), jsonOf(after['properties'])];
  const [needed, needs] = [requiredOf(before), requiredOf(after)];
  const removed = Object.keys(known).filter((name) => !(name in now));
  const lost = side === 'request' && after['additionalProperties'] !== false ? [] : removed;
  const turned =
    side === 'request'
      ? [...needs].filter((name) => !needed.has(name)).map((name) => `${at}/${name}: now required`)
      : [...needed].filter((name) => name in now && !needs.has(name)).map((name) => `${at}/${name}: may now be absent`);
  return [
    ...lost.map((name) => `${at}/${name}: removed`),
    ...turned,
    ...Object.keys(known)
      .filter((name) => name in now)
      .flatMap((name) =>
        schemaBreaks({ side, at: `${at}/${name}`, before: jsonOf(known[name]), after: jsonOf(now[name]) }),
      ),
  ];
}

function requiredOf(schema: Json): Set<string> {
  return new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []);
}

/** Items, names and values of maps. */
function partBreaks({ side, at, before, after }: SchemaPair): string[] {
  return ['items', 'propertyNames', 'additionalProperties'].flatMap((name) => {
    const [known, now] = [before[name], after[name]];
    if (now === false && known !== false && side === 'request' && typesOf(before).has('object'))
      return [`${at}: takes no further fields`];
    if (typeof now !== 'object' || known === false) return [];
    const place = name === 'items' ? `${at}/[]` : `${at}/*`;
    return schemaBreaks({ side, at: place, before: jsonOf(known), after: jsonOf(now) });
  });
}

function tell(value: unknown): string {
  return value === undefined ? 'none' : [value].flat().map(String).join('|') || 'any';
}

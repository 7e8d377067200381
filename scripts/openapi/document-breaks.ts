import { type Json, jsonOf, schemaBreaks } from './schema-breaks.ts';

interface Pair {
  readonly at: string;
  readonly before: Json;
  readonly after: Json;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * One line for each promise of the OpenAPI document `before` that `after` breaks: what a client of before may send and
 * is refused now, or may read and finds no more. What was added breaks nothing.
 */
export function documentBreaks(before: Json, after: Json): string[] {
  const [known, now] = [withoutReferences(before), withoutReferences(after)];
  return Object.entries(jsonOf(known['paths'])).flatMap(([path, item]) => {
    const next = jsonOf(now['paths'])[path];
    if (next === undefined) return [`${path}: path removed`];
    return METHODS.filter((method) => method in jsonOf(item)).flatMap((method) => {
      const at = `${method.toUpperCase()} ${path}`;
      const operation = jsonOf(next)[method];
      if (operation === undefined) return [`${at}: operation removed`];
      return operationBreaks({ at, before: jsonOf(jsonOf(item)[method]), after: jsonOf(operation) });
    });
  });
}

function operationBreaks(pair: Pair): string[] {
  return [...securityBreaks(pair), ...parameterBreaks(pair), ...bodyBreaks(pair), ...answerBreaks(pair)];
}

/** Each credential that opened it must open it still, with no further scope. */
function securityBreaks({ at, before, after }: Pair): string[] {
  const [known, now] = [listOf(before['security']), listOf(after['security'])];
  if (now.length === 0) return [];
  if (known.length === 0) return [`${at}: needs a credential`];
  const opens = (held: Json) =>
    now.some((needed) =>
      Object.entries(needed).every(
        ([scheme, scopes]) => scheme in held && textsOf(scopes).every((scope) => textsOf(held[scheme]).includes(scope)),
      ),
    );
  return known.filter((held) => !opens(held)).map((held) => `${at}: ${JSON.stringify(held)} no longer opens it`);
}

function parameterBreaks({ at, before, after }: Pair): string[] {
  const [known, now] = [parametersOf(before), parametersOf(after)];
  const added = [...now]
    .filter(([place, parameter]) => !known.has(place) && parameter['required'] === true)
    .map(([place]) => `${at} ${place}: new and required`);
  const changed = [...known].flatMap(([place, parameter]) => {
    const next = now.get(place);
    if (next === undefined) return [`${at} ${place}: removed`];
    const isNewlyRequired = next['required'] === true && parameter['required'] !== true;
    return [
      ...(isNewlyRequired ? [`${at} ${place}: now required`] : []),
      ...schemaBreaks({
        side: 'request',
        at: `${at} ${place}`,
        before: jsonOf(parameter['schema']),
        after: jsonOf(next['schema']),
      }),
    ];
  });
  return [...added, ...changed];
}

function parametersOf(operation: Json): Map<string, Json> {
  return new Map(listOf(operation['parameters']).map((one) => [`${String(one['in'])} ${String(one['name'])}`, one]));
}

function bodyBreaks({ at, before, after }: Pair): string[] {
  const [known, now] = [before['requestBody'], after['requestBody']];
  if (known === undefined) return jsonOf(now)['required'] === true ? [`${at} request: body now required`] : [];
  if (now === undefined) return [`${at} request: body removed`];
  const isNewlyRequired = jsonOf(now)['required'] === true && jsonOf(known)['required'] !== true;
  return [
    ...(isNewlyRequired ? [`${at} request: body now required`] : []),
    ...contentBreaks('request', { at: `${at} request`, before: jsonOf(known), after: jsonOf(now) }),
  ];
}

function answerBreaks({ at, before, after }: Pair): string[] {
  const now = jsonOf(after['responses']);
  return Object.entries(jsonOf(before['responses'])).flatMap(([status, answer]) => {
    if (now[status] === undefined) return [`${at} ${status}: status removed`];
    const pair = { at: `${at} ${status}`, before: jsonOf(answer), after: jsonOf(now[status]) };
    const headers = Object.keys(jsonOf(pair.before['headers'])).filter(
      (name) => !(name in jsonOf(pair.after['headers'])),
    );
    return [...headers.map((name) => `${pair.at}: header ${name} removed`), ...contentBreaks('response', pair)];
  });
}

function contentBreaks(side: 'request' | 'response', { at, before, after }: Pair): string[] {
  const now = jsonOf(after['content']);
  return Object.entries(jsonOf(before['content'])).flatMap(([type, content]) => {
    if (now[type] === undefined) return [`${at}: ${type} removed`];
    const schema = (one: unknown) => jsonOf(jsonOf(one)['schema']);
    return schemaBreaks({ side, at: `${at} `, before: schema(content), after: schema(now[type]) });
  });
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(jsonOf) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The document with each `$ref` replaced by what it names; a schema that holds itself ends at its second occurrence. */
function withoutReferences(document: Json): Json {
  const resolve = (value: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item) => resolve(item, within));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref } = value as { $ref?: unknown };
    if (typeof $ref === 'string') return within.includes($ref) ? {} : resolve(named(document, $ref), [...within, $ref]);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolve(item, within)]));
  };
  return jsonOf(resolve(document, []));
}

function named(document: Json, reference: string): unknown {
  const parts = reference.replace('#/', '').split('/');
  return parts.reduce<unknown>(
    (value, part) => jsonOf(value)[part.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  );
}

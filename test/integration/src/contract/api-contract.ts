/** The HTTP API as its own document tells it, for tests that are made from the document. */
import { openApiDocument } from '@turnkeeper/protocol';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export type Json = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Json;
}

/** One operation of the document. */
export interface Contract {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Any one of them opens it; none: it is open to all. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly body: Json | null;
  readonly statuses: readonly string[];
  /** Answers with a stream: nothing that is read to its end. */
  readonly streams: boolean;
  /** The codes that the document lists for a status. */
  codesOf(status: number): readonly string[];
  /** The code of a refusal that has the form which the document gives it; null when it has another. */
  codeIn(answer: { readonly status: number; readonly type: string; readonly text: string }): string | null;
  /** Why an answer of success is not what the document says; null when it is. */
  faultOf(status: number, answer: unknown): string | null;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Every operation, in the order of the document. */
export function contracts(): Contract[] {
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, Json>> };
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => contractOf(method, path, item[method] ?? {})),
  );
}

/** Where its listener is. */
export function isInternal({ path }: Contract): boolean {
  return path.startsWith('/admin/') || path === '/metrics';
}

function contractOf(method: string, path: string, operation: Json): Contract {
  const {
    operationId,
    security,
    parameters = [],
    requestBody,
    responses,
  } = operation as {
    operationId: string;
    security: Contract['security'];
    parameters?: Parameter[];
    requestBody?: Json;
    responses: Record<string, Json>;
  };
  return {
    ...{ id: operationId, method: method.toUpperCase(), path, security, parameters },
    body: requestBody === undefined ? null : schemaIn(requestBody, 'application/json'),
    statuses: Object.keys(responses),
    streams: Object.values(responses).some((answer) => schemaIn(answer, 'text/event-stream') !== null),
    codesOf: (status) => (responses[status]?.['x-codes'] ?? []) as readonly string[],
    codeIn: refusalReader(responses),
    faultOf: answerJudge(responses),
  };
}

function schemaIn(holder: Json, type: string): Json | null {
  const content = (holder['content'] ?? {}) as Record<string, { schema?: Json }>;
  return content[type]?.schema ?? null;
}

function refusalReader(responses: Readonly<Record<string, Json>>): Contract['codeIn'] {
  return ({ status, type, text }) => {
    const content = (responses[status]?.['content'] ?? {}) as Json;
    if (type.startsWith('application/problem+json')) return JSON.parse(text).code ?? null;
    const isOther = status >= 400 && 'application/json' in content && type.startsWith('application/json');
    return isOther ? (JSON.parse(text).error?.code ?? null) : null;
  };
}

function answerJudge(responses: Readonly<Record<string, Json>>): Contract['faultOf'] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const judges = new Map<number, ValidateFunction>();
  return (status, answer) => {
    const response = responses[status];
    if (response === undefined) return `${status} is not in the document`;
    const schema = schemaIn(response, 'application/json');
    if (schema === null) return null;
    const judge = judges.get(status) ?? ajv.compile(schema);
    judges.set(status, judge);
    return judge(answer) ? null : ajv.errorsText(judge.errors);
  };
}

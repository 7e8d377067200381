import type { HttpErrorCode } from '@turnkeeper/core';
import type { z } from 'zod';
import { HTTP_ERRORS } from '../errors.ts';

export interface FieldFault {
  /** RFC 6901; the empty pointer is the whole request. */
  readonly pointer: string;
  readonly code: HttpErrorCode;
  /** In words, without the value. */
  readonly why: string;
}

/** What is wrong with a body: one fault per place. Unknown names → `unknown_field`, absent ones → `missing_field`. */
export function bodyFaults(error: z.ZodError, body: unknown): FieldFault[] {
  return error.issues.flatMap((issue) => {
    const at = pointerOf(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(
        (key): FieldFault => ({
          pointer: pointerOf([...issue.path, key]),
          code: 'unknown_field',
          why: 'no such field',
        }),
      );
    }
    if (issue.code === 'custom') return [{ pointer: at, code: codeOf(issue.params), why: issue.message }];
    return isAbsent(body, issue.path)
      ? [{ pointer: at, code: 'missing_field', why: missing(issue) }]
      : [{ pointer: at, code: 'invalid_field', why: issue.message }];
  });
}

/** What is wrong with a query string: bad `limit` and `cursor` have codes of their own. */
export function queryFaults(error: z.ZodError, query: unknown): FieldFault[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(
        (key): FieldFault => ({ pointer: pointerOf([key]), code: 'unsupported_param', why: 'no such parameter' }),
      );
    }
    const at = pointerOf(issue.path);
    if (issue.code === 'custom' && codeOf(issue.params) !== 'invalid_field') {
      return [{ pointer: at, code: codeOf(issue.params), why: issue.message }];
    }
    // a list stands in one parameter: what is wrong in it is not absent
    if (isAbsent(query, issue.path.slice(0, 1))) return [{ pointer: at, code: 'missing_field', why: 'is missing' }];
    const name = issue.path[0];
    const code = name === 'limit' ? 'invalid_limit' : name === 'cursor' ? 'invalid_cursor' : 'unsupported_param';
    return [{ pointer: at, code, why: issue.message }];
  });
}

/**
 * What a schema says that has no words of its own: `Schema.safeParse(value, { error: inWords })`. Without it people would
 * read the validator's.
 */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${sizeOf(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `must be at most ${sizeOf(issue.origin, issue.maximum)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'does not have the form that it must have';
    case 'invalid_union':
      return 'is none of what may stand here';
    default:
      return 'is not allowed here';
  }
};

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be an instant in UTC, as 2030-01-31T12:00:00Z',
  url: 'must be an address that begins with http:// or https://',
};

function sizeOf(origin: string, size: number | bigint): string {
  if (origin === 'string') return `${size} characters long`;
  return origin === 'array' || origin === 'set' ? `${size} entries long` : String(size);
}

function missing(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_value' ? `is missing: one of ${issue.values.map(String).join(', ')}` : 'is missing';
}

/** A JSON pointer of a path. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function codeOf(params: Record<string, unknown> | undefined): HttpErrorCode {
  const code = params?.['code'];
  return typeof code === 'string' && isHttpErrorCode(code) ? code : 'invalid_field';
}

function isHttpErrorCode(code: string): code is HttpErrorCode {
  return Object.hasOwn(HTTP_ERRORS, code);
}

function isAbsent(body: unknown, path: readonly PropertyKey[]): boolean {
  let at = body;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return true;
    at = Reflect.get(at, part);
  }
  return at === undefined;
}

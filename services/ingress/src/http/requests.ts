import { AppError } from '@turnkeeper/core';
import { bodyFaults, type FieldFault, inWords, queryFaults } from '@turnkeeper/protocol';
import type { z } from 'zod';

/** Places that the sentence names; `errors` names more. */
const FAULTS_TOLD_MAX = 5;

/** The body in its schema's type. @throws AppError whose code is the first fault's, with a pointer to each place */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError({ code: 'invalid_json', message: 'send one JSON object with content-type application/json' });
  }
  const parsed = schema.safeParse(body, { error: inWords });
  if (parsed.success) return parsed.data;
  throw refusal(bodyFaults(parsed.error, body));
}

/** The query string in its schema's type. @throws AppError `missing_field`, `invalid_limit`, `invalid_cursor`, `unsupported_param` */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const parsed = schema.safeParse(query, { error: inWords });
  if (parsed.success) return parsed.data;
  throw refusal(queryFaults(parsed.error, query));
}

function refusal(faults: readonly FieldFault[]): AppError {
  const code = faults[0]?.code ?? 'invalid_field';
  const told = faults.slice(0, FAULTS_TOLD_MAX).map(({ pointer, why }) => `${pointer || 'the whole request'}: ${why}`);
  const more = faults.length > told.length ? [`${faults.length - told.length} more`] : [];
  return new AppError({ code, message: [...told, ...more].join('; '), fields: faults });
}

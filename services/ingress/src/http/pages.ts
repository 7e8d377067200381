import { AppError, type HttpErrorCode, type Page } from '@turnkeeper/core';

/** A list as callers see it. */
export function pageAnswer<Row, Answer>(page: Page<Row>, answerOf: (row: Row) => Answer) {
  return { data: page.rows.map(answerOf), nextCursor: page.nextCursor, hasMore: page.nextCursor !== null };
}

export { NoQuerySchema, PageQuerySchema } from '@turnkeeper/protocol';

/** The thing, or the answer for what is missing or another tenant's. */
export function found<T>(thing: T | null, code: HttpErrorCode, what: string): T {
  if (thing === null) throw new AppError({ code, message: `no such ${what}` });
  return thing;
}

/** The body with the name that the path gives; a body may repeat it, not contradict it. @throws AppError `invalid_field` */
export function withName(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if ('name' in body && body.name !== name) {
    throw new AppError({
      code: 'invalid_field',
      message: 'the name in the body is not the one in the path',
      fields: [{ pointer: '/name', code: 'invalid_field' }],
    });
  }
  return { ...body, name };
}

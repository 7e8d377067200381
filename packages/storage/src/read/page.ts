import type { Page } from '@turnkeeper/core';

/** A page of rows that were read with a limit one higher, so that the last page is known without another read. */
export function pageOf<Row>(rows: readonly Row[], limit: number, cursorAfter: (last: Row) => string): Page<Row> {
  const last = rows[limit - 1];
  if (rows.length <= limit || last === undefined) return { rows, nextCursor: null };
  return { rows: rows.slice(0, limit), nextCursor: cursorAfter(last) };
}

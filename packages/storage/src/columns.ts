import { AppError, type TenantId } from '@turnkeeper/core';

/**
 * One array per column for `unnest`, all as long as the batch: it would pad a shorter one with nulls without a word.
 * @throws AppError `internal` for an undefined value, which the driver would send as null
 */
export function columns<Item>(items: readonly Item[], ...picks: readonly ((item: Item) => unknown)[]): unknown[][] {
  return picks.map((pick, column) =>
    items.map((item) => {
      const value = pick(item);
      if (value === undefined)
        throw new AppError({ code: 'internal', message: `column ${column} of a batch is undefined` });
      return value;
    }),
  );
}

/** As `columns` of no items: the arguments of a call that does nothing. */
export function emptyColumns(count: number): unknown[][] {
  return Array.from({ length: count }, () => []);
}

/** The tenants of a batch, as the policies of tk_engine read them. */
export function tenantsOf(tenantIds: Iterable<TenantId>): string {
  return [...new Set(tenantIds)].join(',');
}

/** A value for a jsonb column; null stays SQL's null. */
export function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** `select * from tk.<name>($1, …)` */
export function call(name: string, parameters: number): { readonly name: string; readonly text: string } {
  const marks = Array.from({ length: parameters }, (_, index) => `$${index + 1}`);
  return { name, text: `select * from tk.${name}(${marks.join(', ')})` };
}

/**
 * Puts rows in the order of the batch: row.i = position in the input, from 1.
 * @throws AppError `internal` when an item has no row
 */
export function inOrder<Row extends { readonly i: number }, Result>(
  count: number,
  rows: readonly Row[],
  result: (row: Row) => Result,
): Result[] {
  const byItem = new Map(rows.map((row) => [row.i, row]));
  return Array.from({ length: count }, (_, index) => {
    const row = byItem.get(index + 1);
    if (row === undefined) throw new AppError({ code: 'internal', message: `item ${index} of a batch has no answer` });
    return result(row);
  });
}

/** For calls that name the items which are so, by position from 1. */
export function flags(count: number, rows: readonly { readonly i: number }[]): boolean[] {
  const named = new Set(rows.map((row) => row.i));
  return Array.from({ length: count }, (_, index) => named.has(index + 1));
}

/** Columns as the query builder's types see them and as a test compares them with the live database. */
import type { ColumnType } from 'kysely';

/** `udt` is PostgreSQL's short name of the type: `int4`, `_text`. */
export interface Column<Select, Insert = Select> {
  readonly udt: string;
  readonly isNullable: boolean;
  readonly hasDefault: boolean;
  /** Types only: never set. */
  readonly types?: readonly [Select, Insert];
}

type ColumnTypeOf<C> = C extends Column<infer Select, infer Insert> ? ColumnType<Select, Insert, Insert> : never;

/** The query builder's type of a table. */
export type TableOf<Columns> = { [Name in keyof Columns]: ColumnTypeOf<Columns[Name]> };

function column<Select, Insert = Select>(udt: string): Column<Select, Insert> {
  return { udt, isNullable: false, hasDefault: false };
}

export const uuid = column<string>('uuid');
export const text = column<string>('text');
export const int2 = column<number>('int2');
export const int4 = column<number>('int4');
/** As text: 64 bits do not fit a number. */
export const int8 = column<string>('int8');
/** A day; read as text by whoever reads it. */
export const date = column<Date>('date');
/** As text: a number may not hold it. */
export const numeric = column<string>('numeric');
export const bool = column<boolean>('bool');
export const bytes = column<Uint8Array>('bytea');
export const time = column<Date>('timestamptz');
export const texts = column<readonly string[]>('_text');
export const uuids = column<readonly string[]>('_uuid');
export const int8s = column<readonly string[]>('_int8');

/** Parsed when read, written as JSON text: the driver would write a list as a PostgreSQL array. */
export function json<Value>(): Column<Value, string> {
  return column('jsonb');
}

export function orNull<Select, Insert>(base: Column<Select, Insert>): Column<Select | null, Insert | null | undefined> {
  return { udt: base.udt, isNullable: true, hasDefault: base.hasDefault };
}

export function orDefault<Select, Insert>(base: Column<Select, Insert>): Column<Select, Insert | undefined> {
  return { udt: base.udt, isNullable: base.isNullable, hasDefault: true };
}

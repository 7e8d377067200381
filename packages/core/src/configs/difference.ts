export interface FieldDifference {
  /** RFC 6901, from the top of the object. */
  readonly pointer: string;
  /** Left out when the field is new. */
  readonly before?: unknown;
  /** Left out when the field is gone. */
  readonly after?: unknown;
}

/**
 * Where two JSON values differ: one entry per leaf, in the order of the fields; none when they are equal. Lists count as
 * leaves, and so does an empty object that is new or gone.
 */
export function differencesOf(before: unknown, after: unknown, pointer = ''): FieldDifference[] {
  if (isBranch(before) && isBranch(after)) {
    const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
    if (names.size > 0) {
      return [...names].flatMap((name) =>
        differencesOf(before?.[name], after?.[name], `${pointer}/${escapeName(name)}`),
      );
    }
  }
  if (isSame(before, after)) return [];
  return [{ pointer, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> | undefined {
  return value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => differencesOf(item, b[i]).length === 0);
  }
  const areEmpty = typeof a === 'object' && typeof b === 'object' && isBranch(a) && isBranch(b);
  return areEmpty || Object.is(a, b);
}

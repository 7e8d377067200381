export interface FieldDifference {
  /** RFC 6901, from the top of the object. */
  readonly pointer: string;
  /** Left out when the field is new. */
  readonly before?: unknown;
  /** Left out when the field is gone. */
  readonly after?: unknown;
}

/** Where two JSON values differ: one entry per leaf, in the order of the fields; none when they are equal. Lists count as leaves. */
export function differencesOf(before: unknown, after: unknown, pointer = ''): FieldDifference[] {
  if (isRecord(before) && isRecord(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      differencesOf(before[name], after[name], `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    );
  }
  if (isSame(before, after)) return [];
  return [{ pointer, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => differencesOf(item, b[i]).length === 0);
  }
  return Object.is(a, b);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

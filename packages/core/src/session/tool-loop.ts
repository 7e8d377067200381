/** A tool call with what it brought. */
export interface ToolStep {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: string;
}

/** Calls in a row that bring nothing new before the next one is not made. */
const REPEATS_MAX = 4;

/**
 * Would this call be one more of a row that leads nowhere? Near-identical is enough: other numbers, letters in another
 * case and blanks make no other call, or a counter would keep a loop alive. What brought another result was progress.
 */
export function isToolLoop(
  earlierOldestFirst: readonly ToolStep[],
  next: Pick<ToolStep, 'name' | 'arguments'>,
): boolean {
  const row = earlierOldestFirst.slice(-REPEATS_MAX);
  const call = shapeOf(next);
  const [result] = row.map((step) => flat(step.result));
  return row.length === REPEATS_MAX && row.every((step) => shapeOf(step) === call && flat(step.result) === result);
}

function shapeOf({ name, arguments: given }: Pick<ToolStep, 'name' | 'arguments'>): string {
  return `${name} ${JSON.stringify(plain(given))}`;
}

/** The names of an object come in whatever order a model writes them. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return flat(value);
  if (typeof value === 'number') return '#';
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, held]) => [name, plain(held)]));
}

function flat(text: string): string {
  return text.replace(/\d+/gu, '#').replace(/\s+/gu, ' ').trim().toLowerCase();
}

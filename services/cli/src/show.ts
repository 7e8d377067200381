/** Words and numbers as tables show them: short enough for 80 columns. */

const UNITS = [
  ['s', 60],
  ['m', 60],
  ['h', 24],
  ['d', Number.POSITIVE_INFINITY],
] as const;

/** How long ago, in its largest unit: `12s`, `3h`. Times that this clock thinks are still to come are `0s`. */
export function ago(instant: string | undefined, nowMs: number): string {
  if (instant === undefined) return '';
  let amount = Math.max(0, Math.floor((nowMs - Date.parse(instant)) / 1000));
  for (const [unit, next] of UNITS) {
    if (amount < next) return `${amount}${unit}`;
    amount = Math.floor(amount / next);
  }
  return '';
}

/** Cut in the middle, where keys and names differ least. */
export function shorten(text: string, lengthMax: number): string {
  const letters = [...text];
  if (letters.length <= lengthMax) return text;
  const tail = Math.floor((lengthMax - 1) / 2);
  return `${letters.slice(0, lengthMax - 1 - tail).join('')}…${letters.slice(letters.length - tail).join('')}`;
}

/** `0-3,7,9-10`. */
export function ranges(numbers: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** The last letters of a UUID: enough to tell a few processes apart. */
export function shortId(uuid: string | null): string {
  return uuid === null ? '' : uuid.slice(-8);
}

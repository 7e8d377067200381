/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  /** `bad` makes the doctor fail; `unknown` = there was nothing to look at. */
  readonly state: 'ok' | 'warn' | 'bad' | 'unknown';
  readonly found: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** True when a dotted version is at least this one. */
export function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  for (const [i, want] of wanted.entries()) {
    const have = parts[i] ?? 0;
    if (have !== want) return have > want;
  }
  return true;
}

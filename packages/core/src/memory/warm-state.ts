/** What a process keeps only to be faster: everything in it can be read again. */
export interface WarmEntries {
  /** Names, the one that was used longest ago first. */
  readonly lruToMru: Iterable<string>;
  /** In use by a turn that runs. */
  readonly midTurn: Pick<ReadonlySet<string>, 'has'>;
}

export interface CappedEntries extends WarmEntries {
  /** How many `lruToMru` are. */
  readonly size: number;
}

export interface PressurePass extends WarmEntries {
  readonly lruToMru: readonly string[];
  /** Not stored yet. */
  readonly unflushed: ReadonlySet<string>;
  /** So many of the newest stay, but never more than half. */
  readonly protectRecent: number;
  readonly maxPerPass: number;
}

const AUTO_SHARE = 0.65;
const AUTO_MB_MIN = 512;
const BYTES_PER_MB = 1024 * 1024;
const AUTO: ReadonlySet<unknown> = new Set([true, 'true', 'auto']);
const OFF: ReadonlySet<unknown> = new Set([false, 'false', 'off', '']);

/**
 * The memory, in MiB, above which a process gives up what it keeps warm; null: none. `auto` is 65 % of the limit of its
 * container, and nothing without a limit or where that is under 512 MiB (source: hermes.md §17).
 */
export function memoryBudgetMb(setting: string | number | boolean, limitBytes: number | null): number | null {
  if (OFF.has(setting)) return null;
  if (AUTO.has(setting)) {
    const share = Math.floor(((limitBytes ?? 0) / BYTES_PER_MB) * AUTO_SHARE);
    return share < AUTO_MB_MIN ? null : share;
  }
  const megabytes = Number(setting);
  return Number.isFinite(megabytes) && megabytes > 0 ? megabytes : null;
}

/**
 * Above the cap only the oldest ones in excess may go: those in use stay, and nobody younger pays for them. Looks at no more
 * entries than are in excess (source: hermes.md §16).
 */
export function evictAboveCap({ lruToMru, size, midTurn }: CappedEntries, cap: number): string[] {
  const evicted: string[] = [];
  let excess = size - cap;
  if (excess <= 0) return evicted;
  for (const name of lruToMru) {
    if (!midTurn.has(name)) evicted.push(name);
    if (--excess === 0) break;
  }
  return evicted;
}

/** Under pressure the oldest go first, a bounded number at a time. */
export function evictUnderPressure(pass: PressurePass): string[] {
  const { lruToMru, midTurn, unflushed, protectRecent, maxPerPass } = pass;
  const isProtected = Math.min(protectRecent, Math.floor(lruToMru.length / 2));
  return lruToMru
    .slice(0, lruToMru.length - isProtected)
    .filter((name) => !midTurn.has(name) && !unflushed.has(name))
    .slice(0, maxPerPass);
}

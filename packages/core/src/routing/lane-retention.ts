export interface IdleLane {
  /** Zero or less: lanes stay for ever. */
  readonly maxAgeDays: number;
  readonly idleDays: number;
  readonly suspended: boolean;
  /** A check that failed counts as running. */
  readonly activeWork: 'none' | 'running' | 'check_failed';
}

/** Is the lane old enough to be forgotten? What was said in it has a retention of its own. */
export function prunesLane({ maxAgeDays, idleDays, suspended, activeWork }: IdleLane): boolean {
  return maxAgeDays > 0 && idleDays > maxAgeDays && !suspended && activeWork === 'none';
}

interface CappedSession {
  readonly key: string;
  readonly updatedAt: number;
  readonly running: boolean;
}

/** The oldest that are too many; one that is running is never taken, also when too many are left then. */
export function overCap(sessions: readonly CappedSession[], maxEntries: number): string[] {
  const excess = Math.max(0, sessions.length - maxEntries);
  const idle = sessions.filter(({ running }) => !running).sort((a, b) => a.updatedAt - b.updatedAt);
  return idle.slice(0, excess).map(({ key }) => key);
}

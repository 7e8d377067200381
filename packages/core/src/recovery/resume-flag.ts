/**
 * Marks a lane as interrupted: the reason that is to stand on it, null when it is refused. A lane that nobody knows has
 * nothing to resume, one that is suspended begins anew (source: hermes.md §4).
 */
export function markResume<Reason extends string>(
  lane: { readonly exists: boolean; readonly suspended: boolean },
  reason: Reason,
): Reason | null {
  return lane.exists && !lane.suspended ? reason : null;
}

/** Takes the mark away, and with it all that it says. `cleared`: there was one. */
export function clearResume(pending: string | null): { readonly cleared: boolean; readonly pending: null } {
  return { cleared: pending !== null, pending: null };
}

export interface BootHistory {
  /** Turns that wait for an automatic resume; a start without any does not count, and is not recorded. */
  readonly candidates: number;
  /** Earlier starts that had some. Below 0: the clock was set back since. */
  readonly interruptedAgoMs: readonly number[];
  /** As many in a row trip the breaker; 0 = never. */
  readonly restartsMax: number;
  /** Two starts with no more than the longer of the two between them are of one chain. */
  readonly windowMs: number;
  readonly gapMsMax: number;
}

/**
 * Whether a process that starts again and again because of what it resumes must leave it alone this time. The marks stay,
 * so the next message of a person goes on (source: hermes.md §11).
 */
export function breakResumeLoop(history: BootHistory): { readonly chain: number; readonly tripped: boolean } {
  const { candidates, interruptedAgoMs, restartsMax } = history;
  if (candidates <= 0) return { chain: 0, tripped: false };
  const gapMs = Math.max(history.windowMs, history.gapMsMax);
  let [chain, lastMs] = [1, 0];
  for (const agoMs of interruptedAgoMs.filter((ms) => ms >= -gapMs).sort((a, b) => a - b)) {
    if (Math.abs(agoMs - lastMs) > gapMs) break;
    chain++;
    lastMs = agoMs;
  }
  return { chain, tripped: restartsMax > 0 && chain >= restartsMax };
}

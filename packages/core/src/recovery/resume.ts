import type { ResumeReason } from './interrupted.ts';

/** A lane that may be owed an automatic run of what was interrupted in it. */
export interface ResumeCandidate {
  readonly resumePending: boolean;
  readonly reason: string;
  /** Since it was marked. */
  readonly markedAgeMs: number;
  /** Older marks wait for a person; 0 = however old. */
  readonly freshnessMs: number;
  readonly hasOrigin: boolean;
  readonly adapter: 'ready' | 'offline';
  readonly ownerAccess: 'allowed' | 'denied' | 'check_failed';
  readonly running: boolean;
  readonly suspended: boolean;
}

export type ResumeBlocker =
  | 'not_pending'
  | 'suspended'
  | 'no_origin'
  | 'reason'
  | 'stale'
  | 'running'
  | 'adapter_offline'
  | 'not_authorized';

const AUTOMATIC: ReadonlySet<string> = new Set<ResumeReason>([
  'restart_timeout',
  'shutdown_timeout',
  'restart_interrupted',
  'orphaned_tool_call',
]);

/** Why a lane is not resumed by itself; null when it is. The first reason counts, the mark stays in any case. */
export function resumeBlocker(lane: ResumeCandidate): ResumeBlocker | null {
  if (!lane.resumePending) return 'not_pending';
  if (lane.suspended) return 'suspended';
  if (!lane.hasOrigin) return 'no_origin';
  if (!AUTOMATIC.has(lane.reason)) return 'reason';
  if (!isFresh(lane.markedAgeMs, lane.freshnessMs)) return 'stale';
  if (lane.running) return 'running';
  if (lane.adapter === 'offline') return 'adapter_offline';
  return lane.ownerAccess === 'allowed' ? null : 'not_authorized';
}

/** True for an age within the window, the window included; 0 = always, an unknown age is fresh. */
export function isFresh(ageMs: number | null, windowMs: number): boolean {
  return windowMs === 0 || ageMs === null || ageMs <= windowMs;
}

/** How a turn ended, as far as it counts for the flag. */
export interface TurnOutcome {
  /** Null: the agent did not say. */
  readonly completed: boolean | null;
  readonly interrupted: boolean;
  readonly failed: boolean;
  readonly partial: boolean;
  readonly error: string | null;
}

/** Only a turn that really succeeded takes the flag `resume_pending` away, an answer of no words included (P9, H21). */
export function clearsResume({ completed, interrupted, failed, partial, error }: TurnOutcome): boolean {
  return completed !== false && !interrupted && !failed && !partial && error === null;
}

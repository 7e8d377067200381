import type { RecoveryLimits } from '../ports/repair.ts';

/** A crash while it worked, in the life of a lane. */
export interface Strike {
  /** Automatic resumes in a row that no success has ended. */
  readonly resumes: number;
  /** False for a planned end of the process: it never counts. */
  readonly isCrash: boolean;
  /** At this many in a row the lane stops itself. */
  readonly resumesMax: number;
}

/** For agents that say nothing else. */
export const RECOVERY_DEFAULTS: RecoveryLimits = {
  inactiveMsMax: 1_800_000,
  freshnessMs: 3_600_000,
  resumesMax: 3,
  failuresMax: 5,
};

/** The count to be stored before the resume is dispatched, or that the lane is suspended instead, and starts anew. */
export function strike({ resumes, isCrash, resumesMax }: Strike): {
  readonly resumes: number;
  readonly suspend: boolean;
} {
  const counted = resumes + (isCrash ? 1 : 0);
  return isCrash && counted >= resumesMax ? { resumes: 0, suspend: true } : { resumes: counted, suspend: false };
}

import type { LaneId, LaneRef, TenantId } from '../ids.ts';

/** `open`: of work that is not done; `history`: of what was written once and stays. */
export type InvariantKind = 'open' | 'history';

/** One row that breaks a promise. */
export interface Violation {
  /** `P1` to `P6`. */
  readonly promise: string;
  /** Name of the check. */
  readonly invariant: string;
  readonly tenantId: TenantId;
  readonly laneId: LaneId;
  /** Of open work only. */
  readonly slot: number | null;
  /** What is at fault, as a UUID; `events`, `turns`, `messages`, `lanes` is its table. */
  readonly subject: string;
  readonly subjectKind: 'events' | 'turns' | 'messages' | 'lanes';
  readonly detail: string;
  /** The leader puts it right; anything else is told only, because a repair would have to invent what happened. */
  readonly repairable: boolean;
}

/** The leader's view of the invariants: the same list that `turnkeeper verify` judges by. */
export interface Invariants {
  /** Names of all checks of a kind. */
  names(kind: InvariantKind): Promise<readonly string[]>;
  /** What of the history of the last so many milliseconds is broken, at most 200 rows of each. @throws StoreError */
  history(lastMs: number): Promise<readonly Violation[]>;
  /**
   * What of the open work is broken now, at most 200 rows of each, in the slots from `fromSlot` on that hold about `rows` of
   * it. `nextSlot`: where the next look goes on; 0: that was the last of them. @throws StoreError
   */
  openWork(look: {
    readonly fromSlot: number;
    readonly rows: number;
    readonly lastMs: number;
  }): Promise<{ readonly violations: readonly Violation[]; readonly nextSlot: number }>;
  /**
   * Puts right what is wrong in each of these lanes now, under its lock: kinds of what was put right, of each lane where
   * anything was. @throws StoreError
   */
  repair(lanes: readonly LaneRef[]): Promise<ReadonlyMap<LaneId, readonly string[]>>;
}

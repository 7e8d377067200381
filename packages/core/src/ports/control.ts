import type { EventId, LaneRef, TenantId, TurnId } from '../ids.ts';

export type CancelResult =
  /** `turnId`: the turn that ran it and was fenced off, to be told so by a signal; null when none ran. The lane may have more work: wake it. */
  | { readonly result: 'cancelled'; readonly turnId: TurnId | null; readonly lane: LaneRef }
  /** It had ended before: what ended it stands. */
  | { readonly result: 'final' }
  /** No such event of this tenant. */
  | { readonly result: 'missing' };

/** What people do to a lane from outside. Every call is one transaction under the lane's lock (protocol `control`). */
export interface ControlStore {
  /**
   * Ends one run: while it is queued, it alone; while it runs, its turn and every event of that turn. Nothing else of the
   * lane changes. @throws StoreError
   */
  cancelRun(tenantId: TenantId, eventId: EventId): Promise<CancelResult>;
}

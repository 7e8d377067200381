/** Apart from what a lane is doing: how long ago anybody spoke in its session. */
export type SessionStatus = 'active' | 'expired' | 'archived';

export interface LifecycleLimits {
  readonly expiryHours: number;
  readonly archiveHours: number;
}

/** Both since the last activity (design §6). */
export const LIFECYCLE_LIMITS: LifecycleLimits = { expiryHours: 72, archiveHours: 168 };

const HOUR_MS = 3_600_000;

/**
 * What one sweep makes of a session: active → expired → archived, one step at a time, each when more than its hours have
 * passed since the last activity, which no sweep moves. Null: it stays what it is.
 */
export function nextStatus(
  session: { readonly status: SessionStatus; readonly lastActivityAt: Date },
  now: Date,
  { expiryHours, archiveHours }: LifecycleLimits,
): 'expired' | 'archived' | null {
  const ageMs = now.getTime() - session.lastActivityAt.getTime();
  if (session.status === 'active') return ageMs > expiryHours * HOUR_MS ? 'expired' : null;
  if (session.status === 'expired') return ageMs > archiveHours * HOUR_MS ? 'archived' : null;
  return null;
}

export interface Touch {
  /** new: a session of its own, linked to the old one. */
  readonly session: 'same' | 'new';
  readonly status: SessionStatus;
  readonly activityTouched: boolean;
}

/** What something that happens to a session does to its status. Only a message that was accepted changes anything. */
export function touchSession(
  status: SessionStatus,
  { event, accepted }: { readonly event: 'inbound' | 'read' | 'background_append'; readonly accepted: boolean },
): Touch {
  if (event !== 'inbound' || !accepted) return { session: 'same', status, activityTouched: false };
  return { session: status === 'archived' ? 'new' : 'same', status: 'active', activityTouched: true };
}

/** Is there anything to archive? Null: no session. */
export function mayArchive(status: SessionStatus | null): boolean {
  return status !== null && status !== 'archived';
}

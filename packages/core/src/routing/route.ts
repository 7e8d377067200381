/** How a session ended. By accident: nobody wanted it to. Everything else is a boundary that somebody drew, or a rule. */
export type SessionEnd =
  | 'agent_close'
  | 'ws_orphan_reap'
  | 'session_reset'
  | 'session_switch'
  | 'suspended'
  | 'archived'
  | 'forgotten'
  | 'idle'
  | 'daily'
  | 'both';

export interface RouteQuestion {
  /** The session that the lane names; null when it names none. */
  readonly entry: {
    readonly sessionId: string;
    readonly suspended: boolean;
    readonly resumePending: boolean;
    readonly hadActivity: boolean;
  } | null;
  /** That session's own row. A look-up that failed counts as open: nothing is ended because a store did not answer. */
  readonly row: { readonly state: 'open' | 'ended' | 'none' | 'lookup_failed'; readonly endReason: SessionEnd | null };
  /** Earlier sessions, for a lane that names none. `at`: last activity, or when it was ended; only compared. */
  readonly candidates: readonly RouteCandidate[];
  /** What took the session's place without being a boundary. */
  readonly successorId: string | null;
  /** False: the event is nobody's activity. */
  readonly touchActivity: boolean;
  readonly forceNew: boolean;
}

export interface RouteCandidate {
  readonly id: string;
  readonly sameKey: boolean;
  readonly hasMessages: boolean;
  readonly ended: boolean;
  readonly endReason: SessionEnd | null;
  readonly at: number;
}

export interface Route {
  readonly session: 'new' | 'recovered' | 'same' | 'successor';
  /** Null: a new one. */
  readonly sessionId: string | null;
  readonly autoReset: boolean;
  readonly autoResetReason: 'suspended' | null;
  readonly resetHadActivity: boolean | null;
  readonly prevSessionId: string | null;
  /** How the session ends that the lane named. */
  readonly oldRowEndReason: 'suspended' | null;
  readonly rowReopened: boolean;
  readonly activityTouched: boolean;
  readonly resumePending: boolean;
}

/**
 * Which session an event gets, time aside (design §6): suspended > explicitly ended > resume pending > same. What ended by
 * accident is opened again. How long ago anything was is never asked here.
 */
export function decideRoute(question: RouteQuestion): Route {
  const { entry, row, candidates, successorId, touchActivity, forceNew } = question;
  if (forceNew) return NEW;
  if (entry === null) return recover(candidates, touchActivity);
  if (entry.suspended) {
    const { sessionId, hadActivity } = entry;
    const old = { prevSessionId: sessionId, resetHadActivity: hadActivity, oldRowEndReason: 'suspended' } as const;
    return { ...NEW, ...old, autoReset: true, autoResetReason: 'suspended' };
  }
  const ended = row.state === 'ended';
  if (ended && !isAccident(row.endReason)) return NEW;
  const kept = { ...NEW, activityTouched: touchActivity, resumePending: entry.resumePending, rowReopened: ended };
  if (successorId !== null) return { ...kept, session: 'successor', sessionId: successorId };
  return { ...kept, session: 'same', sessionId: entry.sessionId };
}

const NEW: Route = {
  session: 'new',
  sessionId: null,
  autoReset: false,
  autoResetReason: null,
  resetHadActivity: null,
  prevSessionId: null,
  oldRowEndReason: null,
  rowReopened: false,
  activityTouched: true,
  resumePending: false,
};

/** Ended without anybody's wish: the next event opens the session again. */
function isAccident(reason: SessionEnd | null): boolean {
  return reason === 'agent_close' || reason === 'ws_orphan_reap';
}

/** The lane has forgotten its session: the last one that lives, if no boundary was drawn since. */
function recover(candidates: readonly RouteCandidate[], touchActivity: boolean): Route {
  const own = candidates.filter(({ sameKey }) => sameKey);
  const isOver = ({ ended, endReason }: RouteCandidate) => ended && !isAccident(endReason);
  const boundary = Math.max(...own.filter(isOver).map(({ at }) => at));
  const [best] = own
    .filter((candidate) => !isOver(candidate) && candidate.at >= boundary)
    .sort((a, b) => Number(b.hasMessages) - Number(a.hasMessages) || b.at - a.at);
  if (best === undefined) return NEW;
  return { ...NEW, session: 'recovered', sessionId: best.id, rowReopened: best.ended, activityTouched: touchActivity };
}

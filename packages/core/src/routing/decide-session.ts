import type { SessionDecision, SessionFacts } from '../ports/lane.ts';
import { resetSession } from './boundaries.ts';
import { touchSession } from './lifecycle.ts';
import { decideReset, type ResetPolicy } from './reset-policy.ts';
import { decideRoute } from './route.ts';

export interface DecideOptions {
  readonly policy: ResetPolicy;
  /** IANA zone of the tenant. */
  readonly timeZone: string;
}

/**
 * Which session a lane's next event belongs to (design §6): suspended > explicitly ended > resume pending > archived > same.
 * Time ends a conversation only by the agent's policy, only for what a person says, and never one that owes a resume.
 */
export function decideSession(facts: SessionFacts, options: DecideOptions): SessionDecision {
  const { seen, sessionId, isWake } = facts;
  const route = decideRoute({
    entry: sessionId === null ? null : { ...facts, sessionId },
    row: { state: facts.ended ? 'ended' : 'open', endReason: facts.endReason },
    candidates: facts.candidates.map((candidate) => ({ ...candidate, sameKey: true })),
    successorId: null,
    touchActivity: !isWake,
    forceNew: false,
  });
  if (route.sessionId === null) {
    const reason = route.oldRowEndReason ?? (sessionId === null ? 'first' : (facts.endReason ?? 'archived'));
    return { seen, session: 'new', startedReason: reason, endReason: route.oldRowEndReason };
  }
  const kept = { seen, session: 'same', sessionId: route.sessionId } as const;
  if (route.resumePending) return { ...kept, status: 'active' };
  const trigger = isWake || route.session === 'recovered' ? null : resetTriggerOf(facts, options);
  if (trigger !== null) {
    const { startedReason, endReason } = resetSession(route.sessionId, trigger);
    return { seen, session: 'new', startedReason, endReason };
  }
  const reopened = route.rowReopened ? 'active' : facts.status;
  if (isWake && reopened !== 'archived') return { ...kept, status: reopened };
  const touched = touchSession(reopened, { event: 'inbound', accepted: true });
  if (touched.session === 'new') return { seen, session: 'new', startedReason: 'archived', endReason: 'archived' };
  return { ...kept, status: 'active' };
}

function resetTriggerOf({ lastActivityAtMs, acceptedAtMs }: SessionFacts, { policy, timeZone }: DecideOptions) {
  const times = { lastActivityAt: new Date(lastActivityAtMs), now: new Date(acceptedAtMs) };
  return decideReset({ policy, ...times, timeZone });
}

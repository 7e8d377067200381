import type { InterruptedTurn, LostTurn, RepairStore, TurnVerdict } from '../ports/repair.ts';
import { decideInterrupted, type ResumeReason } from './interrupted.ts';
import { resumeBlocker } from './resume.ts';
import { clearResume, markResume } from './resume-flag.ts';
import { strike } from './strikes.ts';

const SUSPENDED_NOTICE = {
  code: 'worker_lost_too_often',
  text: 'I was interrupted several times while I worked on your message, so I have stopped trying. Please send it again: the next message starts a fresh conversation.',
};
const PARKED_NOTICE = {
  code: 'poison',
  text: 'I could not work on your message: it failed every time. It was set aside, and I go on with the next one.',
};
const STALE_NOTICE = {
  code: 'turn_timeout',
  text: 'I was interrupted while I worked on your message, and too much time has passed since. Please send it again if you still need the answer.',
};
const SILENCE_NOTICE = {
  code: 'no_reply',
  text: 'I was interrupted while I worked on your message. The model had nothing to say to it.',
};

/** Decides on the turns of lost processes, at most `limit`, and writes what was decided. @throws StoreError */
export async function interruptLostTurns(
  repair: Pick<RepairStore, 'lostTurns' | 'interrupt'>,
  limit: number,
): Promise<InterruptedTurn[]> {
  const lost = await repair.lostTurns(limit);
  if (lost.length === 0) return [];
  const verdicts = lost.map(verdictOf);
  const written = await repair.interrupt(verdicts);
  return verdicts.flatMap(({ lost: { lane, turnId, lostForMs }, outcome }, i) =>
    written[i] === true ? [{ lane, turnId, outcome, lostForMs }] : [],
  );
}

/**
 * The rules put together: what is stored decides first, then how often it has failed, then whether it may run by itself.
 *
 * ```
 *  reply stored ─► ok, owed with the notice            silence, nobody asked ─► no_reply
 *  process ended as planned, nothing stored, or lane suspended ─► queued again: it never began
 *  failed too often ─► event parked, lane goes on      third crash in a row ─► lane suspended, event refused
 *  too old, or not fresh ─► timeout, and the person is told; the flag stays for the note
 *  else ─► one automatic resume, counted before it can start
 * ```
 */
export function verdictOf(lost: LostTurn): TurnVerdict {
  const decision = decideInterrupted(markedTurn(lost));
  const { pending } = clearResume(lost.resumePending);
  const same = { lost, pending, resumes: lost.resumes, suspend: lost.suspended, owesReply: false, notice: null };
  if (decision.obligation?.kind === 'answer') {
    return { ...same, outcome: 'replied', events: 'ok', error: null, resumes: 0, owesReply: true };
  }
  if (decision.obligation !== null) {
    return { ...same, outcome: 'silent', events: 'no_reply', error: null, notice: SILENCE_NOTICE };
  }
  if (decision.tooOld) return stale(lost);
  if (decision.resume) return again(lost, decision.resumeReason ?? 'restart_interrupted');
  if (lost.suspended || lost.steps === 0) return { ...same, outcome: 'requeued', events: 'queued', error: null };
  if (!lost.crashed) return again(lost, 'restart_interrupted');
  return { ...same, outcome: 'silent', events: 'no_reply', error: null };
}

function again(lost: LostTurn, reason: ResumeReason): TurnVerdict {
  const { limits, crashed, failures, lostForMs, suspended } = lost;
  const pending = markResume({ exists: true, suspended }, reason);
  const base = { lost, pending, suspend: false, owesReply: false };
  if (crashed && failures + 1 >= limits.failuresMax) {
    return {
      ...base,
      outcome: 'parked',
      events: 'parked',
      error: 'poison',
      pending: null,
      resumes: 0,
      notice: PARKED_NOTICE,
    };
  }
  const { resumes, suspend } = strike({ resumes: lost.resumes, isCrash: crashed, resumesMax: limits.resumesMax });
  if (suspend) {
    const error = 'worker_lost_too_often';
    return {
      ...base,
      outcome: 'suspended',
      events: 'refused',
      error,
      pending: null,
      resumes,
      suspend,
      notice: SUSPENDED_NOTICE,
    };
  }
  const blocker = resumeBlocker({
    ...{ resumePending: pending !== null, reason, markedAgeMs: lostForMs, freshnessMs: limits.freshnessMs },
    ...{ hasOrigin: true, adapter: 'ready', ownerAccess: 'allowed', running: false, suspended: false },
  });
  if (blocker !== null) return { ...stale(lost), pending, resumes };
  return { ...base, outcome: 'resume', events: 'resuming', error: null, resumes, notice: null };
}

function stale(lost: LostTurn): TurnVerdict {
  const { suspended: suspend, resumes, isMachine } = lost;
  const notice = isMachine ? null : STALE_NOTICE;
  const base = { lost, pending: null, resumes, suspend, owesReply: false, notice };
  return { ...base, outcome: 'stale', events: 'timeout', error: 'turn_timeout' };
}

function markedTurn(lost: LostTurn) {
  const { lastStep, ageMs, crashed, suspended, resumePending, isMachine, limits } = lost;
  return {
    nowMs: ageMs,
    owner: crashed ? ('expired' as const) : ('clean' as const),
    markedAtMs: 0,
    suspended,
    resumePending: reasonOf(resumePending),
    lastRow: lastStep === null ? null : rowOf(lastStep),
    turnKind: isMachine ? ('machine' as const) : ('human' as const),
    diagnosticsMuted: false,
    ledgerEnabled: true,
    ledgeredText: null,
    agentTimeoutMs: limits.inactiveMsMax,
    hasOrigin: true,
  };
}

function rowOf({ role, text, afterMs }: NonNullable<LostTurn['lastStep']>) {
  const isReply = role === 'assistant';
  return {
    role: isReply ? ('assistant' as const) : ('tool' as const),
    text,
    toolCalls: role === 'tool_call',
    mediaOnly: false,
    atMs: afterMs,
  };
}

function reasonOf(pending: string | null): ResumeReason | null {
  switch (pending) {
    case 'restart_timeout':
    case 'shutdown_timeout':
    case 'restart_interrupted':
    case 'orphaned_tool_call':
      return pending;
    default:
      return null;
  }
}

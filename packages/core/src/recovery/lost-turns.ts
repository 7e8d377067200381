import { hexToBytes } from '@noble/hashes/utils.js';
import { obligationId } from '../delivery/ledger.ts';
import { type BootId, type MessageId, uuidV7 } from '../ids.ts';
import type { InterruptedTurn, LostTurn, RepairStore, TurnVerdict } from '../ports/repair.ts';
import { decideInterrupted, type ResumeReason } from './interrupted.ts';
import { resumeBlocker } from './resume.ts';
import { type BootHistory, breakResumeLoop, clearResume, markResume } from './resume-flag.ts';
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

const HELD_NOTICE = {
  code: 'worker_lost_too_often',
  text: 'I was interrupted again and again while I worked on your message, so I do not take it up by myself any more. Write to me, and I go on.',
};

/** When turns that are lost over and over are not resumed by themselves any more, on whatever processes they run. */
export type ResumeBreaker = Pick<BootHistory, 'restartsMax' | 'windowMs' | 'gapMsMax'>;

/** Three takeovers of resumed turns, no more than five minutes between two of them (source: hermes.md §11). */
export const RESUME_BREAKER: ResumeBreaker = { restartsMax: 3, windowMs: 60_000, gapMsMax: 300_000 };

/** Decides on the turns of lost processes, at most `limit`, and writes what was decided. @throws StoreError */
export async function interruptLostTurns(
  repair: Pick<RepairStore, 'lostTurns' | 'interrupt'>,
  limit: number,
  breaker = RESUME_BREAKER,
): Promise<InterruptedTurn[]> {
  const lost = await repair.lostTurns(limit, breaker.restartsMax);
  if (lost.length === 0) return [];
  const verdicts = holdLoops(lost.map(verdictOf), breaker);
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
 *  else ─► one automatic resume, counted before it can start; when resumes end process after process: see `holdLoops`
 * ```
 */
export function verdictOf(lost: LostTurn): TurnVerdict {
  const decision = decideInterrupted(markedTurn(lost));
  const { pending } = clearResume(lost.resumePending);
  const same = { ...NO_WORDS, lost, pending, resumes: lost.resumes, suspend: lost.suspended };
  if (decision.obligation?.kind === 'answer') {
    return { ...same, outcome: 'replied', events: 'ok', error: null, resumes: 0, owesReply: true };
  }
  if (decision.obligation !== null) {
    return { ...same, outcome: 'silent', events: 'no_reply', error: null, notice: noticeOf(lost, SILENCE_NOTICE) };
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
  const base = { ...NO_WORDS, lost, pending, suspend: false };
  if (crashed && failures + 1 >= limits.failuresMax) {
    return {
      ...base,
      outcome: 'parked',
      events: 'parked',
      error: 'poison',
      pending: null,
      resumes: 0,
      notice: noticeOf(lost, PARKED_NOTICE),
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
      notice: noticeOf(lost, SUSPENDED_NOTICE),
    };
  }
  const blocker = resumeBlocker({
    ...{ resumePending: pending !== null, reason, markedAgeMs: lostForMs, freshnessMs: limits.freshnessMs },
    ...{ hasOrigin: true, adapter: 'ready', ownerAccess: 'allowed', running: false, suspended: false },
  });
  if (blocker !== null) return { ...stale(lost), pending, resumes };
  return {
    ...base,
    outcome: 'resume',
    events: 'resuming',
    error: null,
    resumes,
    lostAgain: crashed && lost.resumes > 0,
  };
}

function stale(lost: LostTurn): TurnVerdict {
  const { suspended: suspend, resumes, isMachine } = lost;
  const notice = isMachine ? null : noticeOf(lost, STALE_NOTICE);
  const base = { ...NO_WORDS, lost, pending: null, resumes, suspend, notice };
  return { ...base, outcome: 'stale', events: 'timeout', error: 'turn_timeout' };
}

/**
 * Turns that are lost again after they were resumed may be what ends the processes that resume them. When that has happened in
 * too many takeovers, each soon after the one before, they are not started by themselves this time: their messages are
 * refused, people are told, and the flag stays, so that the next message goes on. One takeover counts once, however many
 * processes are lost in it, and a turn that is lost for the first time is always resumed: kills and outages, however many,
 * trip nothing unless what they interrupt is interrupted again before it succeeds.
 */
function holdLoops(verdicts: readonly TurnVerdict[], breaker: ResumeBreaker): TurnVerdict[] {
  const candidates = new Map<BootId, number>();
  for (const { lost, lostAgain } of verdicts) {
    if (lostAgain) candidates.set(lost.bootId, (candidates.get(lost.bootId) ?? 0) + 1);
  }
  return verdicts.map((verdict) => {
    const { lost, lostAgain } = verdict;
    if (!lostAgain) return verdict;
    const history = { candidates: candidates.get(lost.bootId) ?? 0, interruptedAgoMs: lost.resumesLostAgoMs };
    return breakResumeLoop({ ...breaker, ...history }).tripped ? held(verdict) : verdict;
  });
}

function held(verdict: TurnVerdict): TurnVerdict {
  const { lost } = verdict;
  const notice = lost.isMachine ? null : noticeOf(lost, HELD_NOTICE);
  return { ...verdict, outcome: 'held', events: 'refused', error: 'worker_lost_too_often', notice };
}

const NO_WORDS = { owesReply: false, notice: null, lostAgain: false } as const;

/** What is owed is named by what it is, in the form of an id as old as the turn. */
function noticeOf({ lane, turnId }: LostTurn, { code, text }: Omit<NonNullable<TurnVerdict['notice']>, 'id'>) {
  const beganMs = Number.parseInt(turnId.slice(0, 13).replace('-', ''), 16);
  const id = uuidV7(beganMs, hexToBytes(obligationId(lane.laneId, turnId, text))) as MessageId;
  return { id, code, text };
}

function markedTurn(lost: LostTurn) {
  const { lastStep, ageMs, crashed, suspended, resumePending, isMachine, ledgerEnabled, limits } = lost;
  return {
    nowMs: ageMs,
    owner: crashed ? ('expired' as const) : ('clean' as const),
    markedAtMs: 0,
    suspended,
    resumePending: reasonOf(resumePending),
    lastRow: lastStep === null ? null : rowOf(lastStep),
    turnKind: isMachine ? ('machine' as const) : ('human' as const),
    diagnosticsMuted: false,
    ledgerEnabled,
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

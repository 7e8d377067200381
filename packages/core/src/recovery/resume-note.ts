import type { ResumeReason } from './interrupted.ts';
import { isFresh } from './resume.ts';

/** A lane that was interrupted and has not had a turn that succeeded since. */
export interface PendingResume {
  readonly reason: string;
  /** Since it was marked, on the database clock; null = not known, which counts as fresh. */
  readonly ageMs: number | null;
}

export interface NoteRequest {
  /** Null: nothing was interrupted. */
  readonly pending: PendingResume | null;
  /** Of the last row before this turn; null = not known, which counts as fresh. */
  readonly transcriptAgeMs: number | null;
  /** How old either may be for the note to make sense; 0 = however old. */
  readonly windowMs: number;
  readonly lastRowRole: 'assistant' | 'tool' | 'user' | null;
  /** What the turn would give the model. */
  readonly text: string;
}

export type ResumeNote = 'restored' | 'restart' | 'shutdown' | 'interruption' | 'pending_tool_output';

/**
 * What the model is told of an interruption before it: at most one note. Null with a blank text means that the model is
 * not asked at all (source: hermes.md §9).
 */
export function resumeNote(request: NoteRequest): ResumeNote | null {
  const { pending, windowMs, transcriptAgeMs, lastRowRole } = request;
  const isBlank = request.text.trim() === '';
  const transcriptIsFresh = isFresh(transcriptAgeMs, windowMs);
  if (pending !== null && isBlank) return 'restored';
  if (pending !== null && (isFresh(pending.ageMs, windowMs) || transcriptIsFresh)) return noteOf(pending.reason);
  return !isBlank && lastRowRole === 'tool' && transcriptIsFresh ? 'pending_tool_output' : null;
}

function noteOf(reason: string): ResumeNote {
  switch (reason as ResumeReason) {
    case 'restart_timeout':
      return 'restart';
    case 'shutdown_timeout':
      return 'shutdown';
    default:
      return 'interruption';
  }
}

const ANSWER_NEXT =
  'What it had done until then stands above; whatever has no result there may not have happened. Answer the message below, and do not repeat what is done.';

/** For the model; the person does not see it. */
export const RESUME_NOTE_TEXTS: Readonly<Record<ResumeNote, string>> = {
  restored: '[Note of the system: this conversation was interrupted and has been restored. Go on where it stopped.]',
  restart: `[Note of the system: the turn before this one was cut off by a restart. ${ANSWER_NEXT}]`,
  shutdown: `[Note of the system: the turn before this one was cut off by a shutdown. ${ANSWER_NEXT}]`,
  interruption: `[Note of the system: the turn before this one was interrupted. ${ANSWER_NEXT}]`,
  pending_tool_output:
    '[Note of the system: the results of tools above have not been answered yet. Take them into account, and answer the message below first.]',
};

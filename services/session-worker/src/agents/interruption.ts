import {
  type AgentCall,
  type ClaimedTurn,
  RESUME_NOTE_TEXTS,
  resumeNote,
  type TranscriptEntry,
} from '@turnkeeper/core';

/** The messages of a turn, as its session will hold them. */
export function taken({ events, seq }: ClaimedTurn): readonly TranscriptEntry[] {
  return events.map(({ body }) => ({ seq, role: 'user', body }));
}

/**
 * What a model is given for a turn: the session, the note of an interruption if there was one, the turn's messages. Null:
 * there is nothing to answer, and the model is not asked.
 */
export function toldOfInterruption(
  { turn, config }: Pick<AgentCall, 'turn' | 'config'>,
  history: readonly TranscriptEntry[],
): readonly TranscriptEntry[] | null {
  const note = resumeNote({
    pending: turn.interrupted,
    // Entries do not say when they were written. No turn has succeeded since the interruption, so they are about as old as
    // it: its age alone decides. Null, which counts as fresh, is right where nothing was interrupted: a turn takes up what
    // stands open, however old.
    transcriptAgeMs: turn.interrupted === null ? null : turn.interrupted.ageMs,
    windowMs: config.freshnessMs,
    lastRowRole: roleOf(history.findLast(({ role }) => role !== 'notice')),
    text: turn.events.map(({ body }) => body.text).join('\n'),
  });
  if (note !== null)
    return [...history, { seq: turn.seq, role: 'user', body: { text: RESUME_NOTE_TEXTS[note] } }, ...taken(turn)];
  return turn.events.every(isEmpty) ? null : [...history, ...taken(turn)];
}

function isEmpty({ body }: ClaimedTurn['events'][number]): boolean {
  return body.text.trim() === '' && (body.attachments ?? []).length === 0;
}

function roleOf(entry: TranscriptEntry | undefined) {
  if (entry === undefined) return null;
  return entry.role === 'user' || entry.role === 'assistant' ? entry.role : 'tool';
}

import { formatId, parseId, type SessionId } from '../ids.ts';
import type { LaneSession, Notice, TypedCommand } from '../ports/control.ts';
import { switchSession } from '../routing/boundaries.ts';

/** Sessions that `/resume` lists at most. */
export const SESSIONS_LISTED = 10;
const WORDS_SHOWN = 40;

const UNKNOWN = {
  code: 'session_unknown',
  text: 'There is no such conversation here. /resume alone lists those that there are.',
} as const;
const SAME = { code: 'session_same', text: 'That conversation is the one that goes on here already.' } as const;
const NONE = { code: 'sessions', text: 'There is no earlier conversation here.' } as const;
const BUSY = { code: 'lane_busy', text: 'Not gone back yet: a message of somebody else is under way.' } as const;

/** The session that stands behind `/resume`; null: nothing stands there, or no id. */
export function wantedSession(rest: string): SessionId | null {
  return parseId<SessionId>(rest.toLowerCase(), 'ses');
}

/**
 * What `/resume` does in a lane with these sessions: alone it lists them, with the id of one it goes back to it, with any other
 * id it says that there is none, and with that of the present one that nothing changes. A present one that is over is gone back
 * to like another.
 */
export function decideResume(
  rest: string,
  sessions: readonly LaneSession[],
): Pick<TypedCommand, 'command' | 'notices'> {
  if (rest === '') return saying(sessions.length === 0 ? NONE : listOf(sessions));
  const wanted = wantedSession(rest);
  const target = sessions.find(({ sessionId }) => sessionId === wanted);
  if (target === undefined) return saying(UNKNOWN);
  const present = sessions.find(({ isCurrent }) => isCurrent);
  const goesOn = present === undefined || present.isOver ? '' : present.sessionId;
  const change = switchSession(goesOn, target.sessionId);
  if (change === null) return saying(SAME);
  const from = present?.sessionId ?? null;
  const done = { code: 'session_resumed', text: `The conversation of ${timeOf(target)} goes on.` };
  return {
    command: { from, to: target.sessionId, endReason: change.endReason },
    notices: { done, idle: BUSY },
  };
}

function saying(notice: Notice): Pick<TypedCommand, 'command' | 'notices'> {
  return { command: 'answer', notices: { done: notice, idle: notice } };
}

function listOf(sessions: readonly LaneSession[]): Notice {
  const lines = sessions.slice(0, SESSIONS_LISTED).map((session) => {
    const shown = [...(session.words ?? '').replaceAll(/\s+/g, ' ').trim()];
    const words = shown.length > WORDS_SHOWN ? `${shown.slice(0, WORDS_SHOWN).join('')}…` : shown.join('');
    const parts = [formatId('ses', session.sessionId), timeOf(session), ...(words === '' ? [] : [words])];
    return `${parts.join(' · ')}${session.isCurrent && !session.isOver ? ' (goes on now)' : ''}`;
  });
  return { code: 'sessions', text: [...lines, 'To go back to one of them: /resume and its id.'].join('\n') };
}

function timeOf({ at }: LaneSession): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** What becomes of the session that a lane has when it begins another: by `/new` or `/reset`, or because time ended it. */
export function resetSession(sessionId: string, by: 'command' | 'idle' | 'daily' | 'both') {
  if (by !== 'command') return { previousId: sessionId, startedReason: by, endReason: by } as const;
  return { previousId: sessionId, startedReason: 'reset', endReason: 'session_reset' } as const;
}

/** `/resume` of another session of the lane; null when it is the one that it has. */
export function switchSession(currentId: string, targetId: string) {
  if (currentId === targetId) return null;
  return { sessionId: targetId, endReason: 'session_switch', reopens: true } as const;
}

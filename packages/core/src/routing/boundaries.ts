/** `/new`, `/reset`: what becomes of the session that a lane has; null when there is none to end. */
export function resetSession(sessionId: string | null) {
  if (sessionId === null) return null;
  return { previousId: sessionId, startedReason: 'reset', endReason: 'session_reset' } as const;
}

/** `/resume` of another session of the lane; null when it is the one that it has. */
export function switchSession(currentId: string, targetId: string) {
  if (currentId === targetId) return null;
  return { sessionId: targetId, endReason: 'session_switch', reopens: true } as const;
}

import type { ResumeReason } from './interrupted.ts';

/** Is the silence of a turn's agent so long that nobody waits for it any more, least of all a process that has to end? */
export function isWedged(idleMs: number, inactiveMsMax: number): boolean {
  return idleMs > inactiveMsMax;
}

/** Why turns that a drain cuts off go on elsewhere. It never counts as a crash (P9). */
export function handOverReason(
  kind: 'restart' | 'shutdown',
): Extract<ResumeReason, 'restart_timeout' | 'shutdown_timeout'> {
  return kind === 'restart' ? 'restart_timeout' : 'shutdown_timeout';
}

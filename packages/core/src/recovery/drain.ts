import type { ResumeReason } from './interrupted.ts';

/** Is the silence of a turn's agent so long that nobody waits for it any more, least of all a process that has to end? */
export function isWedged(idleMs: number, inactiveMsMax: number): boolean {
  return idleMs > inactiveMsMax;
}

/** A turn at work, as a drain sees it. */
export interface DrainedTurn {
  readonly idleMs: number;
  readonly inactiveMsMax: number;
}

/**
 * What a drain does with the turns at work, asked again and again while any are left: it waits for them until its time is
 * over, but for none whose agent has been silent for too long. What it does not wait for is handed over; that never counts as
 * a crash (P9).
 */
export function drainStep<Turn extends DrainedTurn>(
  atWork: readonly Turn[],
  isOver: boolean,
): { readonly waitFor: readonly Turn[]; readonly handOver: readonly Turn[] } {
  const isWaitedFor = ({ idleMs, inactiveMsMax }: Turn) => !isOver && !isWedged(idleMs, inactiveMsMax);
  return { waitFor: atWork.filter(isWaitedFor), handOver: atWork.filter((turn) => !isWaitedFor(turn)) };
}

/** Why turns that a drain cuts off go on elsewhere. */
export function handOverReason(
  kind: 'restart' | 'shutdown',
): Extract<ResumeReason, 'restart_timeout' | 'shutdown_timeout'> {
  return kind === 'restart' ? 'restart_timeout' : 'shutdown_timeout';
}

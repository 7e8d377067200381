import type { CommitRequest } from '../ports/lane.ts';

const WAIT_MS_MIN = 1000;
const WAIT_MS_MAX = 30_000;

/** What ends a turn whose commit the store refused: fixed fields only, nothing of the turn that could be refused again. */
export function lastResort({ lane, fence, messageId }: CommitRequest): CommitRequest {
  const nothing = { reply: null, usage: null, owed: null, agentVersion: null };
  return { lane, fence, messageId, status: 'error', error: { code: 'internal' }, ...nothing };
}

/** Between two tries of it, milliseconds: doubled each time, up to half a minute. */
export function longerWaitMs(waitMs: number): number {
  return Math.min(WAIT_MS_MAX, Math.max(WAIT_MS_MIN, waitMs * 2));
}

/** State numbers of the rows, in one place. SQL functions use the same numbers; a test compares them with the database. */

/** `events.state`. 0 also means running: "running" is derived from the lane row (turn_id set, ord in turn_ords). */
export const EVENT_STATE = {
  queued: 0,
  resuming: 1,
  waiting: 2,
  ok: 10,
  no_reply: 11,
  error: 12,
  timeout: 13,
  cancelled: 14,
  superseded: 15,
  merged: 16,
  steered: 17,
  discarded: 18,
  parked: 19,
  refused: 20,
} as const;

/** `turns.state`; a running turn has no row, it stands in its lane. */
export const TURN_STATE = {
  ok: 1,
  no_reply: 2,
  error: 3,
  timeout: 4,
  stopped: 5,
  handed_back: 6,
  interrupted: 7,
  waiting: 8,
  cancelled: 9,
} as const;

/** `messages.dstate`. `offered`: it stands where its reader finds it, and is owed until it was seen. */
export const DELIVERY_STATE = {
  pending: 0,
  sending: 1,
  delivered: 2,
  failed: 3,
  unknown: 4,
  abandoned: 5,
  offered: 6,
} as const;

/** `workers.state`; gone and dead are final. */
export const WORKER_STATE = { live: 0, leaving: 1, gone: 2, dead: 3 } as const;

export const EVENT_KIND = { message: 0, command: 1, wake: 2 } as const;
export const TURN_REASON = { message: 0, resume: 1, wake: 2, spawn: 3, input: 4 } as const;

export type RunStatus =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'ok'
  | 'no_reply'
  | 'error'
  | 'timeout'
  | 'cancelled'
  | 'superseded'
  | 'merged'
  | 'steered'
  | 'discarded'
  | 'refused'
  | 'parked';
export type TurnStatus = keyof typeof TURN_STATE;
export type DeliveryStatus = keyof typeof DELIVERY_STATE;
export type WorkerStatus = keyof typeof WORKER_STATE;
export type EventKind = keyof typeof EVENT_KIND;
export type TurnReason = keyof typeof TURN_REASON;

/** True for a status after which a run never changes again. */
export function isFinal(status: RunStatus): boolean {
  return status !== 'queued' && status !== 'running' && status !== 'waiting';
}

import { AppError, StoreError, type StoreFailure } from '@turnkeeper/core';

/** SQLSTATE classes whose errors mean that one of the rows is at fault, and single states of that kind (protocol I7). */
const ROW_CLASSES = new Set(['22', '23', '54']);
const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
/** Outcome unknown: connection, resources, operator intervention (also the statement time-out, 57014), system error. */
const UNKNOWN_CLASSES = new Set(['08', '53', '57', '58']);
const SQLSTATE = /^[0-9A-Z]{5}$/;

/**
 * What a failed call to Postgres means for its caller. An error without an SQLSTATE comes from the driver (connection
 * lost, no connection free in time, no answer in time): the outcome is not known. A statement that cannot be right
 * (syntax, missing table) is a fault of the program: AppError `internal`.
 */
export function toStoreError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const state = stateOf(error);
  const failure = failureOf(state);
  if (failure === undefined) {
    return new AppError({ code: 'internal', message: `Postgres refused a statement (${state}).`, cause: error });
  }
  return new StoreError({ failure, state, message: `Postgres answered ${state}: ${MEANING[failure]}.`, cause: error });
}

const MEANING: Record<StoreFailure, string> = {
  row: 'a row was refused, nothing was written',
  busy: 'nothing was written, try again',
  unknown: 'it is not known whether anything was written',
};

function failureOf(state: string): StoreFailure | undefined {
  if (!SQLSTATE.test(state)) return 'unknown';
  const group = state.slice(0, 2);
  if (ROW_CLASSES.has(group) || state === INSUFFICIENT_PRIVILEGE) return 'row';
  if (group === '40' || state === LOCK_NOT_AVAILABLE) return 'busy';
  return UNKNOWN_CLASSES.has(group) ? 'unknown' : undefined;
}

function stateOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return 'no_answer';
}

/** True when the connection that raised this is still in a known state and may serve the next call. */
export function keepsConnection(error: unknown): boolean {
  const state = stateOf(error);
  return SQLSTATE.test(state) && !UNKNOWN_CLASSES.has(state.slice(0, 2));
}

/** The constraint that refused a row, when the error names one. */
export function constraintOf(error: unknown): string | undefined {
  const cause = error instanceof AppError ? error.cause : error;
  if (cause instanceof Error && 'constraint' in cause && typeof cause.constraint === 'string') return cause.constraint;
  return undefined;
}

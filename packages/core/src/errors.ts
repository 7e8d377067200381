/** Errors that somebody reacts to. Codes are contract (surface §5) and never change meaning. */

/** Codes of HTTP answers. */
export type HttpErrorCode =
  | 'invalid_json'
  | 'invalid_field'
  | 'unknown_field'
  | 'missing_field'
  | 'invalid_cursor'
  | 'invalid_limit'
  | 'malformed_key'
  | 'no_selector'
  | 'multiple_selectors'
  | 'unsupported_param'
  | 'unauthenticated'
  | 'key_expired'
  | 'key_revoked'
  | 'token_expired'
  | 'signature_invalid'
  | 'signature_stale'
  | 'scope_missing'
  | 'origin_not_allowed'
  | 'tenant_suspended'
  | 'sender_not_allowed'
  | 'agent_not_allowed'
  | 'not_found'
  | 'run_not_found'
  | 'session_not_found'
  | 'agent_not_found'
  | 'account_not_found'
  | 'idempotency_mismatch'
  | 'agent_mismatch'
  | 'label_in_use'
  | 'ambiguous'
  | 'main_session'
  | 'cannot_change'
  | 'lane_busy'
  | 'lane_paused'
  | 'nothing_to_stop'
  | 'run_final'
  | 'input_closed'
  | 'gone'
  | 'version_conflict'
  | 'body_too_large'
  | 'attachment_too_large'
  | 'config_invalid'
  | 'secret_unresolved'
  | 'egress_blocked'
  | 'upload_incomplete'
  | 'file_count_exceeded'
  | 'total_bytes_exceeded'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'lane_full'
  | 'tenant_queue_full'
  | 'too_many_waiters'
  | 'too_many_streams'
  | 'internal'
  | 'agent_unreachable'
  | 'agent_bad_response'
  | 'store_unavailable'
  | 'overloaded'
  | 'draining'
  | 'schema_mismatch'
  | 'deadline_exceeded';

/** Codes of a run that ended in an error (`run.error.code`). */
export type RunErrorCode =
  | 'model_error'
  | 'model_rate_limited'
  | 'model_auth'
  | 'model_refused'
  | 'context_overflow'
  | 'agent_unreachable'
  | 'agent_bad_response'
  | 'agent_error'
  | 'tool_loop'
  | 'bot_loop'
  | 'hop_budget'
  | 'spend_limit'
  | 'inactivity_timeout'
  | 'turn_timeout'
  | 'worker_lost_too_often'
  | 'poison'
  | 'stopped'
  | 'fenced'
  | 'input_expired'
  | 'config_missing'
  | 'egress_blocked'
  | 'internal';

/** A place in a request that is wrong. */
export interface FieldError {
  /** RFC 6901. */
  readonly pointer: string;
  readonly code: string;
  /** What is wrong there, in words, without the value; none: the error's own message says it. */
  readonly why?: string | undefined;
}

export interface AppErrorInit {
  readonly code: HttpErrorCode | RunErrorCode;
  /** Says what is wrong and what to do about it; never a secret, a name or a text of a conversation. */
  readonly message: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** Places in the request that are wrong. */
  readonly fields?: readonly FieldError[];
  /** The run that it is about, as callers know it. */
  readonly runId?: string;
  readonly cause?: unknown;
}

/** An error with a stable code. Thrown for surprises; expected outcomes are return values. */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly code: HttpErrorCode | RunErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly fields: readonly FieldError[];
  /** The run that it is about, as callers know it. */
  readonly runId: string | undefined;

  constructor(init: AppErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.retryable = init.retryable ?? false;
    this.retryAfterMs = init.retryAfterMs;
    this.fields = init.fields ?? [];
    this.runId = init.runId;
  }
}

/** An error about places of a request that each say why: its message names them. At least one. */
export function fieldsError(code: AppErrorInit['code'], fields: readonly FieldError[], cause?: unknown): AppError {
  const said = fields.map(({ pointer, why }) => (why === undefined ? pointer : `${pointer}: ${why}`));
  return new AppError({ code, message: said.join('; '), fields, cause });
}

/** The places of an error as they are named in a body that holds the refused one at `place`; each says why. */
export function fieldsBelow(place: string, { fields, message, code }: AppError): FieldError[] {
  if (fields.length === 0) return [{ pointer: place, code, why: message }];
  return fields.map(({ pointer, code, why = message }) => ({ pointer: place + pointer, code, why }));
}

/**
 * How a store failed, which decides what a batch does next (protocol I7):
 * `row`  one of the rows is at fault (SQLSTATE 22, 23, 42501, 54): bisect, the guilty row alone is refused;
 * `busy` nothing was written, try the batch again (40xxx, 55P03);
 * `unknown` the outcome is not known (08, 57, 53, lost connection, time-out): go on by reading the ids one made.
 */
export type StoreFailure = 'row' | 'busy' | 'unknown';

/** A store failed. `failure` says what the caller may conclude; `code` is `store_unavailable` unless a row is at fault. */
export class StoreError extends AppError {
  override readonly name = 'StoreError';
  readonly failure: StoreFailure;
  /** SQLSTATE or the driver's code. */
  readonly state: string;

  constructor(init: { failure: StoreFailure; state: string; message: string; cause?: unknown }) {
    super({
      code: init.failure === 'row' ? 'invalid_field' : 'store_unavailable',
      retryable: init.failure !== 'row',
      message: init.message,
      cause: init.cause,
    });
    this.failure = init.failure;
    this.state = init.state;
  }
}

/** For the `default:` of a switch over a closed union. */
export function assertNever(value: never): never {
  throw new AppError({ code: 'internal', message: `unexpected variant ${JSON.stringify(value)}` });
}

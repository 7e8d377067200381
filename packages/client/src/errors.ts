/** What every error of this package has. `code` is stable; `retryable`: the same call may succeed later. */
export class TurnkeeperError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** Of the answer, where there was one: quote it to the operator. */
  readonly requestId: string | undefined;

  constructor(
    message: string,
    about: { readonly code: string; readonly retryable: boolean; readonly requestId?: string | undefined },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
    this.code = about.code;
    this.retryable = about.retryable;
    this.requestId = about.requestId;
  }
}

/** Turnkeeper has answered, and refused: a problem document (RFC 9457). */
export class ApiError extends TurnkeeperError {
  readonly status: number;
  /** What the server asks to wait, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Which fields of the request, as JSON pointers. */
  readonly fields: readonly { readonly pointer: string; readonly code: string }[];

  constructor(status: number, problem: Problem) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`, {
      code: problem.code,
      retryable: problem.retryable,
      requestId: problem.requestId,
    });
    this.status = status;
    this.retryAfterMs = problem.retryAfterMs;
    this.fields = problem.errors ?? [];
  }
}

export interface Problem {
  readonly code: string;
  readonly retryable: boolean;
  readonly requestId?: string | undefined;
  readonly title?: string;
  readonly detail?: string;
  readonly retryAfterMs?: number | undefined;
  readonly errors?: ApiError['fields'];
}

/** Nobody answered, or the answer was cut off: what the call did is not known. Code `connection_failed`. */
export class ConnectionError extends TurnkeeperError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { code: 'connection_failed', retryable: true }, options);
  }
}

/** The time that the caller gave is over. Code `deadline_passed`. */
export class DeadlineError extends TurnkeeperError {
  constructor(timeoutMs: number) {
    super(`not done within ${timeoutMs} ms`, { code: 'deadline_passed', retryable: true });
  }
}

/** Something answered that is not Turnkeeper. Code `bad_answer`. */
export class BadAnswerError extends TurnkeeperError {
  readonly status: number;

  constructor(status: number, options?: ErrorOptions) {
    super(`an answer that is not Turnkeeper's (HTTP ${status})`, { code: 'bad_answer', retryable: false }, options);
    this.status = status;
  }
}

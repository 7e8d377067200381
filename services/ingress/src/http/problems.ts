import { AppError, type FieldError, type HttpErrorCode, type Logger, StoreError } from '@turnkeeper/core';
import { HTTP_ERRORS, type Problem } from '@turnkeeper/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const REQUEST_ID_HEADER = 'turnkeeper-request-id';
const RETRY_AFTER_MS_DEFAULT = 1000;

export type SendProblem = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** How a door writes down what went wrong. */
interface ProblemForm {
  readonly type: string;
  readonly bodyOf: (problem: Problem) => object;
}

const RFC_9457: ProblemForm = { type: 'application/problem+json', bodyOf: (problem) => problem };

/** Sends any error, as RFC 9457 unless told otherwise. */
export function problemSender(logger: Logger, { type, bodyOf }: ProblemForm = RFC_9457): SendProblem {
  return (error, request, reply) => {
    const problem = judged(error, request, logger);
    readAway(request, reply);
    if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
    if (problem.retryAfterMs !== undefined) reply.header('retry-after', String(Math.ceil(problem.retryAfterMs / 1000)));
    reply
      .code(problem.status)
      .header(REQUEST_ID_HEADER, request.id)
      .header('content-type', type)
      .send(JSON.stringify(bodyOf(problem)));
  };
}

/** What is not an `AppError` with an HTTP code is a fault of ours: 500, logged, told nothing about. */
export function judged(error: unknown, request: FastifyRequest, logger: Logger): Problem {
  const known = knownError(error) ?? (isGone(request) ? SENDER_GONE : null);
  if (known === null || known.code === 'internal' || known === STORE_FAULTS.row) {
    logger.failed(error, { requestId: request.id, route: request.routeOptions.url }, 'request failed');
  }
  return problemOf(known ?? INTERNAL, request.id);
}

/** Whoever leaves in the middle of a body makes no fault of ours, and hears nothing of it. */
function isGone({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

const SENDER_GONE = { code: 'invalid_field', message: 'the connection was closed before the body was whole' } as const;

/**
 * A sender that is still sending would meet a closed connection and never read the answer: what it sends is read and
 * forgotten, for as long as a request may take, and the connection goes on.
 */
function readAway({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete) return;
  reply.removeHeader('connection');
  raw.unpipe();
  raw.resume();
}

interface KnownError {
  readonly code: HttpErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
  readonly fields?: readonly FieldError[];
  readonly runId?: string | undefined;
}

/** The problem document of an error. Overload and absence always say when to come back. */
export function problemOf(error: KnownError, requestId: string): Problem {
  const info = HTTP_ERRORS[error.code];
  const comesBack = info.status === 429 || info.status === 503;
  const retryAfterMs = error.retryAfterMs ?? (comesBack ? RETRY_AFTER_MS_DEFAULT : undefined);
  return {
    type: `urn:turnkeeper:error:${error.code}`,
    title: info.text,
    status: info.status,
    detail: cut(error.message, DETAIL_LENGTH_MAX),
    code: error.code,
    retryable: info.retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
    requestId,
    ...(error.runId === undefined ? {} : { runId: error.runId }),
    ...(error.fields === undefined || error.fields.length === 0 ? {} : { errors: placesOf(error.fields) }),
  };
}

/** An answer stays small whatever was sent: names of unknown fields are the sender's, and may be many and long. */
const ERRORS_MAX = 20;
const POINTER_LENGTH_MAX = 256;
const WHY_LENGTH_MAX = 500;
const DETAIL_LENGTH_MAX = 2000;

function placesOf(fields: readonly FieldError[]) {
  return fields.slice(0, ERRORS_MAX).map(({ pointer, code, why }) => ({
    ...{ pointer: cut(pointer, POINTER_LENGTH_MAX), code },
    ...(why === undefined ? {} : { detail: cut(why, WHY_LENGTH_MAX) }),
  }));
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
}

const INTERNAL: KnownError = { code: 'internal', message: 'something went wrong here; quote the requestId' };

/** What a store says is for our log: it tells of tables and states. */
const STORE_FAULTS = {
  row: { code: 'invalid_field', message: 'a value of the request cannot be stored' },
  away: { code: 'store_unavailable', message: 'the store does not answer; try again' },
} as const satisfies Readonly<Record<string, KnownError>>;

/** The framework's own refusals, by its stable codes. Any other of its 4xx is a request that we cannot read. */
const FRAMEWORK_CODES: Readonly<Record<string, KnownError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body_too_large', message: 'the body is larger than 1 MiB' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'invalid_json', message: 'send content-type application/json' },
  FST_ERR_BAD_URL: { code: 'not_found', message: 'the path is not percent-encoded UTF-8' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'not_found', message: 'a part of the path is too long' },
};

function knownError(error: unknown): KnownError | null {
  if (error instanceof StoreError) return STORE_FAULTS[error.failure === 'row' ? 'row' : 'away'];
  if (error instanceof AppError) return isHttpCode(error.code) ? { ...pick(error), code: error.code } : null;
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return null;
  const framework = FRAMEWORK_CODES[String(error.code)];
  if (framework !== undefined) return framework;
  const status = Number(error.statusCode);
  return status >= 400 && status < 500 ? { code: 'invalid_json', message: 'the request cannot be read' } : null;
}

function pick({ message, retryAfterMs, fields, runId, code }: AppError): Omit<KnownError, 'code'> {
  return { message: code === 'internal' ? INTERNAL.message : message, retryAfterMs, fields, runId };
}

function isHttpCode(code: string): code is HttpErrorCode {
  return Object.hasOwn(HTTP_ERRORS, code);
}

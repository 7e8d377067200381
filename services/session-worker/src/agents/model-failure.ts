import { AppError, type RunErrorCode } from '@turnkeeper/core';
import { EgressError } from '@turnkeeper/platform/egress';
import { AISDKError, APICallError } from 'ai';
import { z } from 'zod';

/** What servers say besides words, which nobody can rely on. */
const said = z.looseObject({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  param: z.unknown().optional(),
});
const answer = z.object({ error: said });
type Said = z.infer<typeof said>;

/** OpenAI and most others; LiteLLM; llama.cpp. vLLM names the parameter instead. */
const TOO_LONG: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
]);
const TOO_LONG_PARAM = 'input_tokens';
const REFUSED: ReadonlySet<unknown> = new Set(['content_filter', 'content_policy_violation']);
const NO_CREDIT: ReadonlySet<unknown> = new Set(['insufficient_quota', 'billing_hard_limit_reached']);
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425]);

/**
 * Why a call of a model failed, as an error of its run. `answered`: the head of an answer had come, so that a broken
 * connection is a bad answer and not an absent one. Errors that are not the endpoint's stay as they are.
 */
export function modelFailure(error: unknown, answered: boolean): unknown {
  const broken = egressErrorOf(error);
  if (broken !== null)
    return answered && broken.kind !== 'blocked' ? badResponse(broken.kind !== 'too_large', error) : broken;
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 300)
    return refusal(error.statusCode, answer.safeParse(error.data).data?.error, error);
  if (!AISDKError.isInstance(error)) return error;
  // what the server reported in mid-stream, instead of going on
  const told = 'data' in error ? said.safeParse(error.data).data : undefined;
  return told === undefined ? badResponse(true, error) : refusal(statusOf(told), told, error);
}

/** The model would not answer, or its provider would not let it. */
export function modelRefused(cause?: unknown): AppError {
  return failure({ code: 'model_refused', message: 'The model or its provider refused to answer.', cause });
}

function refusal(status: number, told: Said | undefined, cause: unknown): AppError {
  const [code, type] = [told?.code, told?.type];
  const is = (words: ReadonlySet<unknown>) => words.has(code) || words.has(type);
  if (is(TOO_LONG) || status === 413 || (status === 400 && told?.param === TOO_LONG_PARAM))
    return failure({ code: 'context_overflow', message: 'The conversation is longer than the model can take.', cause });
  if (is(REFUSED)) return modelRefused(cause);
  if (status === 401 || status === 403)
    return failure({
      code: 'model_auth',
      message: `The model's endpoint answered ${status}: check the agent's \`apiKey\`.`,
      cause,
    });
  if (status === 429)
    return failure({
      code: 'model_rate_limited',
      retryable: !is(NO_CREDIT),
      message: "The model's endpoint allows no more requests at the moment.",
      ...retryAfter(cause),
      cause,
    });
  return failure({
    code: 'model_error',
    retryable: status >= 500 || TRANSIENT.has(status),
    message: `The model's endpoint answered ${status}.`,
    ...retryAfter(cause),
    cause,
  });
}

function badResponse(retryable: boolean, cause: unknown): AppError {
  return failure({
    code: 'agent_bad_response',
    retryable,
    message: "The answer of the model's endpoint broke off or was none.",
    cause,
  });
}

/** Some put the status there; without one it is their failure. */
function statusOf({ code }: Said): number {
  return Number(code) >= 400 ? Number(code) : 500;
}

type Failure = ConstructorParameters<typeof AppError>[0] & { readonly code: RunErrorCode };

function failure(init: Failure): AppError {
  return new AppError(init);
}

function egressErrorOf(error: unknown): EgressError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EgressError) return at;
  return null;
}

/** Seconds; a date is not worth reading, the usual pause is then right. */
function retryAfter(cause: unknown): { readonly retryAfterMs?: number } {
  const seconds = APICallError.isInstance(cause) ? Number(cause.responseHeaders?.['retry-after']) : Number.NaN;
  return seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
}

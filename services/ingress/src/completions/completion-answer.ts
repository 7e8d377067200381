import { AppError, type HttpErrorCode } from '@turnkeeper/core';
import {
  type Completion,
  type CompletionError,
  type CompletionUsage,
  type Problem,
  RUN_ERRORS,
} from '@turnkeeper/protocol';
import type { CompletionHead } from './completion-stream.ts';
import type { Followed, RunEnd } from './followed-run.ts';

/** A run that ended in a reply, or in none on purpose. */
export interface SpokenRun {
  readonly text: string;
  readonly usage: CompletionUsage;
}

/** What a caller is told of a run that was followed. @throws AppError that names the run */
export function spokenOf(followed: Followed, runId: string): SpokenRun {
  if ('unfollowed' in followed) throw unfollowedError(followed.unfollowed, runId);
  const { end } = followed;
  const isSpoken = end.text !== null && SPOKEN.has(end.status);
  if (!isSpoken && end.status !== 'no_reply') throw endError(end, runId);
  const { inputTokens: prompt, outputTokens: completion } = end.usage;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { text: end.text ?? '', usage };
}

/** Of these the reply of the turn is the answer. */
const SPOKEN: ReadonlySet<string> = new Set(['ok', 'merged', 'steered']);

export function completionOf(head: CompletionHead, { text, usage }: SpokenRun): Completion {
  const message = { role: 'assistant', content: text, refusal: null } as const;
  const choice = { index: 0, message, logprobs: null, finish_reason: 'stop' } as const;
  return { ...head, object: 'chat.completion', choices: [choice], usage };
}

/** As clients of OpenAI tell time. */
export function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** A problem as clients of OpenAI know it. */
export function completionErrorOf({ status, code, detail, title, errors, runId }: Problem): CompletionError {
  const [place] = errors ?? [];
  const param = code === 'agent_not_found' ? 'model' : place === undefined ? null : paramOf(place.pointer);
  const message = detail ?? title;
  return { error: { message, type: typeOf(status), param, code, ...(runId !== undefined && { runId }) } };
}

/** `/messages/0/role` → `messages[0].role` */
function paramOf(pointer: string): string | null {
  const [first = '', ...rest] = pointer.split('/').slice(1);
  const path = rest.map((part) => (/^[0-9]+$/.test(part) ? `[${part}]` : `.${part}`));
  return first === '' ? null : first + path.join('');
}

function typeOf(status: number): CompletionError['error']['type'] {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

function unfollowedError(why: Extract<Followed, { unfollowed: unknown }>['unfollowed'], runId: string): AppError {
  const isOver = why === 'time is over' || why === 'the node is going away' || why === 'the reader has gone';
  // 503 would say that nothing was accepted
  const code: HttpErrorCode = isOver || why === 'store_unavailable' ? 'deadline_exceeded' : why;
  const message = `no answer yet: ${why.replaceAll('_', ' ')}; ${runId} goes on, and GET /v1/runs/${runId} tells its end`;
  return new AppError({ code, message, runId });
}

/** No word in time. */
const SILENT: ReadonlySet<string> = new Set(['agent_unreachable', 'inactivity_timeout', 'turn_timeout']);

function endError({ status, errorCode, inputId }: RunEnd, runId: string): AppError {
  if (status === 'waiting') {
    const message = `the agent asks a person and waits: POST /v1/inputs/${inputId}/answer lets ${runId} go on`;
    return new AppError({ code: 'deadline_exceeded', message, runId });
  }
  const why = isRunError(errorCode) ? `${errorCode}: ${RUN_ERRORS[errorCode]}` : (errorCode ?? 'it has no reply');
  const message = `${runId} ended as ${status}, ${why}`;
  if (status === 'timeout' || SILENT.has(errorCode ?? ''))
    return new AppError({ code: 'agent_unreachable', message, runId });
  const isAgents = status === 'error' || status === 'parked' || status === 'ok';
  return new AppError({ code: isAgents ? 'agent_bad_response' : 'run_final', message, runId });
}

function isRunError(code: string | null): code is keyof typeof RUN_ERRORS {
  return code !== null && Object.hasOwn(RUN_ERRORS, code);
}

import type { RunErrorCode } from '@turnkeeper/core';
import { RUN_ERRORS } from '@turnkeeper/protocol';

/** Null: answered, or the agent asks. Else a sentence that says why there is no answer. */
export type Outcome = string | null;

/** The outcome of a run that ended with this status. */
export function outcomeOf(status: string, code: string | undefined): Outcome {
  switch (status) {
    case 'ok':
      return null;
    case 'no_reply':
      return 'The agent had nothing to say.';
    case 'error':
    case 'timeout':
    case 'refused':
    case 'parked':
      return `${meaningOf(code)} (${code ?? status})`;
    default:
      return `The message was ${status}.`;
  }
}

function meaningOf(code: string | undefined): string {
  return (code !== undefined && isRunError(code) && RUN_ERRORS[code]) || 'The agent could not answer.';
}

function isRunError(code: string): code is RunErrorCode {
  return Object.hasOwn(RUN_ERRORS, code);
}

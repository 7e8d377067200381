import type { Logger } from '@turnkeeper/core';
import { completionErrorOf } from '../completions/completion-answer.ts';
import { problemSender, type SendProblem } from './problems.ts';

/** Refusals as clients of OpenAI know them. */
export function completionProblems(logger: Logger): SendProblem {
  return problemSender(logger, { type: 'application/json; charset=utf-8', bodyOf: completionErrorOf });
}

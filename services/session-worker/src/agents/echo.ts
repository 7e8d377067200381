import { type AgentCall, type AgentRuntime, AppError, type Clock, type Question } from '@turnkeeper/core';

/**
 * Replies what it is told, for tests, load and demo (surface §6). Without `delayMs` and `wordMs` it costs no timer, and
 * without `wordMs` it streams nothing: the reply comes whole. A text of the form `[[ask What now?]]` or
 * `[[ask 500ms What now?]]` makes the turn ask a person and wait, a day or as long as it says; the reply is the answer.
 */
export function echoRuntime(clock: Clock): AgentRuntime {
  return {
    async run({ turn, config: { runtime }, tryNumber, input, signal, emit }) {
      if (runtime.kind !== 'echo')
        throw new AppError({ code: 'internal', message: 'not the settings of an echo agent' });
      if (runtime.delayMs > 0) await clock.sleep(runtime.delayMs, signal);
      signal.throwIfAborted();
      if (tryNumber <= runtime.fail) {
        throw new AppError({
          code: 'agent_error',
          retryable: true,
          message: `Try ${tryNumber} fails because the agent's \`echo.fail\` is ${runtime.fail}.`,
        });
      }
      const question = questionOf(textOf(turn));
      const resolved = question === null ? null : await input();
      if (question !== null && resolved === null) return { text: '', usage: null, ask: question };
      if (resolved?.outcome === 'expired') {
        throw new AppError({ code: 'input_expired', message: 'Nobody answered the question in time.' });
      }
      const text = resolved?.answer?.text ?? textOf(turn);
      for (const [i, word] of (runtime.wordMs > 0 ? wordsOf(text) : []).entries()) {
        if (i > 0) await clock.sleep(runtime.wordMs, signal);
        signal.throwIfAborted();
        emit(word);
      }
      const attachments = resolved === null ? turn.events.flatMap(({ body }) => body.attachments ?? []) : [];
      return { text, usage: null, ...(attachments.length > 0 && { attachments }) };
    },
  };
}

function textOf({ events }: AgentCall['turn']): string {
  return events.map(({ body }) => body.rest ?? body.text).join('\n');
}

const WAIT_MS = 24 * 3_600_000;

/** `[[ask What now?]]`, `[[ask 500ms What now?]]`: the whole text of the turn. */
function questionOf(text: string): Question | null {
  const [, waitMs, asked] = /^\[\[ask(?: (\d{1,9})ms)? (.+)\]\]$/s.exec(text) ?? [];
  if (asked === undefined) return null;
  return { kind: 'question', text: asked, waitMs: waitMs === undefined ? WAIT_MS : Number(waitMs) };
}

/** Each with the white space behind it, so that all together are the text. */
function wordsOf(text: string): string[] {
  return text.split(/(?<=\s)(?=\S)/);
}

import { type AgentCall, type AgentRuntime, AppError, type Clock } from '@turnkeeper/core';

/**
 * Replies what it is told, for tests, load and demo (surface §6). Without `delayMs` and `wordMs` it costs no timer, and
 * without `wordMs` it streams nothing: the reply comes whole.
 */
export function echoRuntime(clock: Clock): AgentRuntime {
  return {
    async run({ turn, config: { runtime }, tryNumber, signal, emit }) {
      if (runtime.kind !== 'echo')
        throw new AppError({ code: 'internal', message: 'not the settings of an echo agent' });
      const pause = async (ms: number) => {
        if (ms > 0) await clock.sleep(ms, signal);
        signal.throwIfAborted();
      };
      await pause(runtime.delayMs);
      if (tryNumber <= runtime.fail) {
        throw new AppError({
          code: 'agent_error',
          retryable: true,
          message: `Try ${tryNumber} fails because the agent's \`echo.fail\` is ${runtime.fail}.`,
        });
      }
      const text = textOf(turn);
      for (const [i, word] of (runtime.wordMs > 0 ? wordsOf(text) : []).entries()) {
        if (i > 0) await pause(runtime.wordMs);
        emit(word);
      }
      return { text, usage: null };
    },
  };
}

function textOf({ events }: AgentCall['turn']): string {
  return events.map(({ body }) => body.text).join('\n');
}

/** Each with the white space behind it, so that all together are the text. */
function wordsOf(text: string): string[] {
  return text.split(/(?<=\s)(?=\S)/);
}

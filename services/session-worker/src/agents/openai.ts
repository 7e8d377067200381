import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AgentCall, type AgentReply, type AgentRuntime, AppError, isHeaderText } from '@turnkeeper/core';
import type { Egress } from '@turnkeeper/platform/egress';
import { streamText, type TextStreamPart, type ToolSet } from 'ai';
import { modelFailure, modelRefused } from './model-failure.ts';
import { modelMessages } from './model-history.ts';

export interface OpenAiOptions {
  readonly egress: Pick<Egress, 'fetchFor'>;
  /** Messages that a model is given at most, those of the turn included. */
  readonly historyMax: number;
  /** The turn's own limit; a request lives no longer, even where its abort was lost. */
  readonly turnMsMax: number;
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Any endpoint that speaks OpenAI's chat completions, through the guarded way out of its tenant. One request per try:
 * failures that may pass are marked `retryable`, and whoever runs the turn decides.
 */
export function openAiRuntime(options: OpenAiOptions): AgentRuntime {
  return { run: (call) => ask(call, options) };
}

async function ask(call: AgentCall, { egress, historyMax, turnMsMax }: OpenAiOptions): Promise<AgentReply> {
  const { config, turn, signal } = call;
  const { runtime, system } = config;
  if (runtime.kind !== 'openai') throw new AppError({ code: 'internal', message: 'not the settings of a model' });
  const messages = modelMessages([...(await call.history()), ...entriesOf(turn)], historyMax);
  const apiKey = await config.secret('apiKey');
  if (apiKey !== null && !isHeaderText(apiKey)) {
    const message = "The agent's `apiKey` cannot be sent as a header: set it anew.";
    throw new AppError({ code: 'model_auth', message });
  }
  signal.throwIfAborted();
  const limits = { firstByteMs: turnMsMax, idleMs: turnMsMax, totalMs: turnMsMax, bytesMax: ANSWER_BYTES_MAX };
  const wayOut = egress.fetchFor(config.tenantId, limits);
  // ends the request also when this side stops reading it
  const request = new AbortController();
  let answered = false;
  const provider = createOpenAICompatible({
    name: 'openai',
    baseURL: runtime.baseUrl,
    includeUsage: true,
    ...(apiKey !== null && { apiKey }),
    fetch: async (input, init) => {
      const answer = await wayOut(input, init);
      answered = true;
      return answer;
    },
  });
  try {
    const { stream } = streamText({
      model: provider(runtime.model),
      messages,
      ...(system !== null && { instructions: system }),
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, request.signal]),
      // its default prints the error, and that may quote the conversation
      onError: () => undefined,
    });
    const reply = await read(stream, call.emit);
    // an aborted stream ends as if it were whole
    signal.throwIfAborted();
    return reply;
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(error, answered);
  } finally {
    request.abort();
  }
}

function entriesOf({ events, seq }: AgentCall['turn']) {
  return events.map(({ body }) => ({ seq, role: 'user' as const, body }));
}

async function read(stream: AsyncIterable<TextStreamPart<ToolSet>>, emit: AgentCall['emit']): Promise<AgentReply> {
  let text = '';
  let usage: AgentReply['usage'] = null;
  for await (const part of stream) {
    if (part.type === 'text-delta') {
      text += part.text;
      emit(part.text);
    } else if (part.type === 'reasoning-delta') {
      // nothing to show, but a sign of life
      emit('');
    } else if (part.type === 'error') {
      throw part.error;
    } else if (part.type === 'finish') {
      if (part.finishReason === 'content-filter') throw modelRefused();
      const { inputTokens, outputTokens } = part.totalUsage;
      usage = {
        ...(inputTokens !== undefined && { inputTokens }),
        ...(outputTokens !== undefined && { outputTokens }),
      };
    }
  }
  return { text, usage };
}

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type AgentCall,
  type AgentReply,
  type AgentRuntime,
  type AgentRuntimeConfig,
  AppError,
  contextTokens,
  isHeaderText,
  type ResolvedInput,
  type TranscriptEntry,
} from '@turnkeeper/core';
import type { Egress } from '@turnkeeper/platform/egress';
import {
  isStepCount,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
} from 'ai';
import { ASK_PERSON, ASK_PERSON_TOOLS, askPersonCallOf, questionOf } from './ask-person.ts';
import { taken, toldOfInterruption } from './interruption.ts';
import { modelFailure, modelRefused } from './model-failure.ts';
import { type ModelFilesOptions, readModelFiles } from './model-files.ts';
import { modelMessages } from './model-history.ts';
import { callsInCircles } from './tool-steps.ts';

export interface OpenAiOptions {
  readonly egress: Pick<Egress, 'fetchFor'>;
  readonly files: ModelFilesOptions;
  /** Messages that a model is given at most, those of the turn included. */
  readonly historyMax: number;
  /** The turn's own limit; a request lives no longer, even where its abort was lost. */
  readonly turnMsMax: number;
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Requests of one try: a model that calls what does not exist, or wrongly, is told so and may do better. */
const STEPS_MAX = 4;
/** Questions of one run; after them the model has to do without. */
const QUESTIONS_MAX = 20;

/**
 * Any endpoint that speaks OpenAI's chat completions, through the guarded way out of its tenant. One request per try, but for
 * tool calls that are none: failures that may pass are marked `retryable`, and whoever runs the turn decides.
 */
export function openAiRuntime(options: OpenAiOptions): AgentRuntime {
  return { run: (call) => ask(call, options) };
}

/** With the files of the conversation in hand, for as long as the model is asked. */
async function ask(call: AgentCall, options: OpenAiOptions): Promise<AgentReply> {
  const { emit, signal } = call;
  const { runtime, tenantId } = call.config;
  if (runtime.kind !== 'openai') throw new AppError({ code: 'internal', message: 'not the settings of a model' });
  const asked = await call.input();
  const entries = asked === null ? toldOfInterruption(call, await call.history()) : await goingOn(call, asked);
  if (entries === null) return { text: '', usage: null };
  const bodies = entries.slice(-options.historyMax).map(({ body }) => body);
  const wanted = { tenantId, bodies, takesImages: runtime.images, signal, alive: () => emit('') };
  const files = await readModelFiles(wanted, options.files);
  try {
    const messages = modelMessages(entries, options.historyMax, files);
    const reply = await askModel(call, { asked, messages, runtime }, options);
    if (asked !== null && reply.ask?.call !== undefined) {
      const since = entries.filter(({ seq }) => BigInt(seq) >= BigInt(asked.sinceSeq));
      if (callsInCircles(since, reply.ask.call)) throw new AppError(TOOL_LOOP);
    }
    return reply;
  } finally {
    files.release();
  }
}

interface ModelRequest {
  readonly asked: ResolvedInput | null;
  readonly messages: ModelMessage[];
  readonly runtime: Extract<AgentRuntimeConfig, { readonly kind: 'openai' }>;
}

async function askModel(
  { config, signal, emit }: AgentCall,
  { asked, messages, runtime }: ModelRequest,
  { egress, turnMsMax }: OpenAiOptions,
): Promise<AgentReply> {
  const { system } = config;
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
      ...(runtime.tools.includes(ASK_PERSON) && {
        ...{ tools: ASK_PERSON_TOOLS, stopWhen: isStepCount(STEPS_MAX) },
        toolChoice: (asked?.asked ?? 0) < QUESTIONS_MAX ? ('auto' as const) : ('none' as const),
      }),
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, request.signal]),
      // its default prints the error, and that may quote the conversation
      onError: () => undefined,
    });
    const reply = await read(stream, emit);
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

/** The session, the turn's messages, and behind them the calls and results of the turns that this one goes on from. */
async function goingOn({ turn, history }: AgentCall, asked: ResolvedInput): Promise<readonly TranscriptEntry[]> {
  const entries = await history();
  const isOlder = (entry: TranscriptEntry) => BigInt(entry.seq) < BigInt(asked.sinceSeq);
  return [...entries.filter(isOlder), ...taken(turn), ...entries.filter((entry) => !isOlder(entry))];
}

async function read(stream: AsyncIterable<TextStreamPart<ToolSet>>, emit: AgentCall['emit']): Promise<AgentReply> {
  let text = '';
  let usage: AgentReply['usage'] = null;
  let question: ReturnType<typeof askPersonCallOf> = null;
  for await (const part of stream) {
    if (part.type === 'text-delta') {
      text += part.text;
      emit(part.text);
    } else if (part.type === 'reasoning-delta') {
      emit(part.text, 'reasoning');
    } else if (part.type === 'tool-input-delta') {
      // nothing to show, but a sign of life
      emit('');
    } else if (part.type === 'tool-call') {
      // of several questions at once the first counts: the model may ask the next when it has the answer
      question ??= askPersonCallOf(part);
    } else if (part.type === 'error') {
      throw part.error;
    } else if (part.type === 'finish') {
      if (part.finishReason === 'content-filter') throw modelRefused();
      if (part.finishReason === 'tool-calls' && question === null) throw new AppError(TOOL_LOOP);
      usage = usageOf(part.totalUsage);
    }
  }
  return question === null ? { text, usage } : { text: '', usage, ask: questionOf(question, text) };
}

function usageOf({ inputTokens: prompt, inputTokenDetails: of, outputTokens }: LanguageModelUsage) {
  const output = outputTokens ?? null;
  const parts = { input: of.noCacheTokens ?? null, cacheRead: of.cacheReadTokens ?? null };
  const input = contextTokens({ ...parts, cacheWrite: of.cacheWriteTokens ?? null, output }, prompt ?? null);
  return { ...(input !== null && { inputTokens: input }), ...(output !== null && { outputTokens: output }) };
}

const TOOL_LOOP = {
  code: 'tool_loop',
  message: 'The model called a tool again and again, and nothing new came of it.',
} as const;

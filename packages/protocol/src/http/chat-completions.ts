/** The OpenAI-compatible door: its bodies, as that API's clients know them. */
import { z } from 'zod';
import { ReferenceSchema } from './fields.ts';
import { IdempotencyKeySchema, MessageTextSchema } from './messages.ts';

const ContentSchema = z.union([z.string(), z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))]);

/** Names of its parts are not ours: what a message says besides its role and content is left alone. */
const CompletionMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: ContentSchema.nullish(),
});
export type CompletionMessage = z.infer<typeof CompletionMessageSchema>;

/** What its agent decides and no caller: taken, and left alone. */
const LEFT_ALONE = [
  ...['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'presence_penalty', 'frequency_penalty'],
  ...['logit_bias', 'seed', 'user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'store'],
  ...['metadata', 'service_tier', 'reasoning_effort', 'verbosity', 'parallel_tool_calls'],
] as const;

/** What would change the form of the answer, with the values that do not. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  stop: [[]],
  tools: [[]],
  tool_choice: ['none', 'auto'],
  functions: [[]],
  function_call: ['none', 'auto'],
  response_format: [{ type: 'text' }],
  logprobs: [false],
  top_logprobs: [0],
  modalities: [['text']],
  audio: [],
  prediction: [],
  web_search_options: [],
};

function neutral(values: readonly unknown[]) {
  const allowed = new Set([...values, null].map((value) => JSON.stringify(value)));
  return z
    .unknown()
    .refine((value) => value === undefined || allowed.has(JSON.stringify(value)), {
      params: { code: 'unsupported_param' },
      error: 'an agent is asked here, and it gives one text: this cannot be asked of it',
    })
    .optional();
}

const leftAlone = Object.fromEntries(LEFT_ALONE.map((name) => [name, z.unknown().optional()]));
const refused = Object.fromEntries(Object.entries(NEUTRAL).map(([name, values]) => [name, neutral(values)]));

/** `model` is an agent, by name or id. The last of the messages is what is said; it has to be the user's. */
export const CompletionRequestSchema = z
  .strictObject({
    ...leftAlone,
    ...refused,
    model: ReferenceSchema,
    messages: z.array(CompletionMessageSchema).min(1),
    stream: z.boolean().nullish(),
    stream_options: z
      .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
      .nullish(),
    idempotencyKey: IdempotencyKeySchema.optional(),
  })
  .check((context) => {
    const fault = faultOfLast(context.value.messages);
    if (fault === null) return;
    const { code, field, message } = fault;
    const path = ['messages', context.value.messages.length - 1, field];
    context.issues.push({ code: 'custom', input: undefined, path, params: { code }, message });
  });
export type CompletionRequest = z.infer<typeof CompletionRequestSchema>;

function faultOfLast(messages: readonly CompletionMessage[]) {
  const last = messages.at(-1);
  if (last === undefined) return null;
  if (last.role !== 'user') {
    return { code: 'invalid_field', field: 'role', message: "the last message is what is said: it is a user's" };
  }
  const text = completionText(last);
  if (text === '') return { code: 'invalid_field', field: 'content', message: 'must not be empty' };
  const fits = MessageTextSchema.safeParse(text).success;
  return fits ? null : { code: 'body_too_large', field: 'content', message: 'a text has at most 256 KiB' };
}

/** The text of a message; its parts are joined by line ends. */
export function completionText({ content }: CompletionMessage): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('\n');
}

/** What the agent counted, 0 where it counted nothing. */
export const CompletionUsageSchema = z.strictObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
});
export type CompletionUsage = z.infer<typeof CompletionUsageSchema>;

/** `id` is the run's. */
export const CompletionSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: z.strictObject({ role: z.literal('assistant'), content: z.string(), refusal: z.null() }),
      logprobs: z.null(),
      finish_reason: z.literal('stop'),
    }),
  ),
  usage: CompletionUsageSchema,
});
export type Completion = z.infer<typeof CompletionSchema>;

/** One frame of a streamed answer. */
export const CompletionChunkSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      delta: z.strictObject({ role: z.literal('assistant').optional(), content: z.string().optional() }),
      logprobs: z.null(),
      finish_reason: z.literal('stop').nullable(),
    }),
  ),
  usage: CompletionUsageSchema.nullable().optional(),
});
export type CompletionChunk = z.infer<typeof CompletionChunkSchema>;

/** Agents as models. `has_more`: there are more than are listed. */
export const ModelListSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(z.strictObject({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })),
  has_more: z.boolean(),
});
export type ModelList = z.infer<typeof ModelListSchema>;

/** `code` is one of ours; `param` names the field as that API's clients write it (`messages[0].role`). */
export const CompletionErrorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.enum([
      'invalid_request_error',
      'authentication_error',
      'permission_error',
      'rate_limit_error',
      'server_error',
    ]),
    param: z.string().nullable(),
    code: z.string(),
    /** Of a message that was accepted though its answer is not here. */
    runId: z.string().optional(),
  }),
});
export type CompletionError = z.infer<typeof CompletionErrorSchema>;

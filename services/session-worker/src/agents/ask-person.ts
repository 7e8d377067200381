import { cleanText, type Question } from '@turnkeeper/core';
import type { ToolSet, TypedToolCall } from 'ai';
import { z } from 'zod';

export const ASK_PERSON = 'ask_person';

const DAY_SECONDS = 24 * 3_600;
const WAIT_SECONDS_MAX = 7 * DAY_SECONDS;
const PROMPT_LENGTH_MAX = 4_000;
const CALL_ID_LENGTH_MAX = 200;

const AskPersonSchema = z.strictObject({
  prompt: z.string().trim().min(1).max(PROMPT_LENGTH_MAX).describe('What the person is asked, in their language.'),
  kind: z
    .enum(['approval', 'question', 'form'])
    .optional()
    .describe('approval: yes or no to something; form: several fields, named in options; default question.'),
  options: z.array(z.string().trim().min(1).max(200)).max(20).optional().describe('Answers to choose from.'),
  expiresIn: z
    .int()
    .min(1)
    .max(WAIT_SECONDS_MAX)
    .optional()
    .describe('Seconds to wait for the answer, a day by default. When they are over the result is "expired".'),
});

/**
 * The tool by which a model asks a person. It is not executed here: the turn ends with the question, and the turn that goes
 * on finds the answer in its history, as the result of the call.
 */
export const ASK_PERSON_TOOLS: ToolSet = {
  [ASK_PERSON]: {
    description:
      'Ask a person and wait for the answer, which is the result of this call. Use it before anything that needs approval, or when only a person can know.',
    inputSchema: AskPersonSchema,
  },
};

interface AskPersonCall {
  readonly callId: string;
  readonly input: z.infer<typeof AskPersonSchema>;
}

/** A call as the model made it; null: it is another, or not as its schema says. */
export function askPersonCallOf(call: TypedToolCall<ToolSet>): AskPersonCall | null {
  const { success, data } = AskPersonSchema.safeParse(call.input);
  return success && call.toolName === ASK_PERSON && call.invalid !== true
    ? { callId: call.toolCallId, input: data }
    : null;
}

/** The question of a call; `said` is what the model said before it. */
export function questionOf({ callId: id, input }: AskPersonCall, said: string): Question {
  const { prompt, kind = 'question', options, expiresIn = DAY_SECONDS } = input;
  const callId = clean(id).slice(0, CALL_ID_LENGTH_MAX);
  const asked = { prompt: clean(prompt), ...(options !== undefined && { options: options.map(clean) }) };
  const call = { type: 'toolCall', id: callId, name: ASK_PERSON, arguments: { ...input, ...asked } };
  const blocks = [...(said.trim() === '' ? [] : [{ type: 'text', text: clean(said) }]), call];
  return {
    ...{ kind, text: asked.prompt, waitMs: expiresIn * 1_000 },
    ...(asked.options !== undefined && { options: asked.options }),
    call: { callId, name: ASK_PERSON, body: { blocks } },
  };
}

/** No store keeps NUL or half a surrogate pair. */
function clean(text: string): string {
  return cleanText(text, { nul: 0, loneSurrogate: 0 });
}

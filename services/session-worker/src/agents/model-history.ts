import {
  type AssistantBlock,
  historyWindow,
  repairTranscript,
  sanitizeCalls,
  type TranscriptEntry,
} from '@turnkeeper/core';
import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from 'ai';
import { z } from 'zod';
import type { ModelFiles } from './model-files.ts';

/** A message with what the rules of history need to know of it. */
interface HistoryMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly calls: readonly string[];
  readonly callId: string | null;
  readonly stopReason: null;
  readonly message: ModelMessage;
}

/** `rest`: what a person typed behind a command. */
const text = z.object({ text: z.string(), rest: z.string().optional() });
const before = z.object({ before: z.array(z.object({ role: z.enum(['user', 'assistant']), text: z.string() })) });
const callStep = z.object({
  blocks: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({
        type: z.literal('toolCall'),
        id: z.string(),
        name: z.string().nullable(),
        arguments: z.record(z.string(), z.unknown()).nullable(),
      }),
    ]),
  ),
});
const resultStep = z.object({ callId: z.string(), name: z.string(), text: z.string() });

/**
 * What a model is given of a transcript: at most `messagesMax` messages, from a user's message on, every tool call with
 * exactly one result (P11), also where a crash parted them. Notices are ours and not the model's; an entry that is none
 * of the known shapes is left out, and what belonged to it is mended like after a crash.
 */
export function modelMessages(
  entries: readonly TranscriptEntry[],
  messagesMax: number,
  files: Pick<ModelFiles, 'partsOf'>,
): ModelMessage[] {
  const messageOf = (entry: TranscriptEntry) => messagesOf(entry, files);
  // mended before it is cut: a result that is made up counts, too
  const { messages } = repairTranscript(entries.flatMap(messageOf), resultOfNone);
  const { from } = historyWindow(messages, { limit: messagesMax, lastConsolidated: 0 });
  return from === null ? [] : messages.slice(from).map(({ message }) => message);
}

function messagesOf({ role, body }: TranscriptEntry, files: Pick<ModelFiles, 'partsOf'>): HistoryMessage[] {
  if (role === 'tool_call') return assistantOf(callStep.safeParse(body).data?.blocks ?? []);
  if (role === 'tool_result') {
    const result = resultStep.safeParse(body).data;
    return result === undefined ? [] : [toolOf(result)];
  }
  const said = text.safeParse(body).data;
  if (said === undefined || role === 'notice') return [];
  const parts = files.partsOf(body);
  if (role === 'assistant') {
    // pictures are for users to send: of what an agent or a person sent, the model is told
    const lines = parts.map((part) => (part.type === 'text' ? part.text : `[File ${part.filename ?? ''}]`));
    return assistantOf([{ type: 'text', text: [said.text, ...lines].filter((line) => line !== '').join('\n') }]);
  }
  const asked = said.rest ?? said.text;
  const earlier = before.safeParse(body).data?.before ?? [];
  if (parts.length === 0) return [...earlier.map(spokenOf), spokenOf({ role, text: asked })];
  const words = asked === '' ? [] : [{ type: 'text' as const, text: asked }];
  return [...earlier.map(spokenOf), { ...NOTHING, role, message: { role, content: [...words, ...parts] } }];
}

function spokenOf({ role, text }: { readonly role: 'user' | 'assistant'; readonly text: string }): HistoryMessage {
  return { ...NOTHING, role, message: { role, content: text } };
}

const NOTHING = { calls: [], callId: null, stopReason: null } as const;

function assistantOf(said: readonly AssistantBlock[]): HistoryMessage[] {
  const { blocks } = sanitizeCalls(said);
  if (blocks.length === 0) return [];
  const content = blocks.map((block) =>
    block.type === 'text'
      ? block
      : { type: 'tool-call' as const, toolCallId: block.id, toolName: block.name ?? '', input: block.arguments ?? {} },
  );
  const message: AssistantModelMessage = { role: 'assistant', content };
  const calls = blocks.flatMap((block) => (block.type === 'toolCall' ? [block.id] : []));
  return [{ ...NOTHING, role: 'assistant', calls, message }];
}

function toolOf({ callId, name, text }: z.infer<typeof resultStep>): HistoryMessage {
  const output = { type: 'text' as const, value: text };
  const content = [{ type: 'tool-result' as const, toolCallId: callId, toolName: name, output }];
  return { ...NOTHING, role: 'tool', callId, message: { role: 'tool', content } satisfies ToolModelMessage };
}

/** The turn ended between a call and its result. */
function resultOfNone(callId: string): HistoryMessage {
  return toolOf({ callId, name: 'unknown', text: 'No result: the turn was interrupted.' });
}

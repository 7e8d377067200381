import { type AskingCall, isToolLoop, type ToolStep, type TranscriptEntry } from '@turnkeeper/core';
import { z } from 'zod';

const call = z.object({
  blocks: z.array(
    z.object({
      type: z.string(),
      id: z.string().optional(),
      name: z.string().nullish(),
      arguments: z.unknown().optional(),
    }),
  ),
});
const result = z.object({ callId: z.string(), text: z.string() });

/** Has a run made this call before, in a near-identical form, so often that nothing new will come of it? */
export function callsInCircles(entries: readonly TranscriptEntry[], next: AskingCall): boolean {
  const [made] = callsIn(next.body);
  return made !== undefined && isToolLoop(stepsOf(entries), made);
}

/** The calls that have a result, oldest first. */
function stepsOf(entries: readonly TranscriptEntry[]): ToolStep[] {
  const results = new Map(
    entries.flatMap(({ role, body }) => {
      const read = role === 'tool_result' ? result.safeParse(body).data : undefined;
      return read === undefined ? [] : [[read.callId, read.text] as const];
    }),
  );
  return entries.flatMap(({ role, body }) =>
    (role === 'tool_call' ? callsIn(body) : []).flatMap(({ id, ...made }) => {
      const text = results.get(id);
      return text === undefined ? [] : [{ ...made, result: text }];
    }),
  );
}

function callsIn(body: unknown) {
  const { blocks = [] } = call.safeParse(body).data ?? {};
  return blocks.flatMap(({ type, id, name, arguments: given }) =>
    type === 'toolCall' && id !== undefined ? [{ id, name: name ?? '', arguments: given }] : [],
  );
}

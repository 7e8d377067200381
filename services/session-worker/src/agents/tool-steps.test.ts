import type { TranscriptEntry } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { callsInCircles } from './tool-steps.ts';

const callOf = (n: number, prompt: string) => ({
  callId: `call ${n}`,
  name: 'ask_person',
  body: {
    blocks: [
      { type: 'text', text: 'well' },
      { type: 'toolCall', id: `call ${n}`, name: 'ask_person', arguments: { prompt } },
    ],
  },
});

function asked(prompts: readonly string[], answer: (n: number) => string): TranscriptEntry[] {
  return prompts.flatMap((prompt, n): TranscriptEntry[] => [
    { seq: String(n), role: 'tool_call', body: callOf(n, prompt).body },
    { seq: String(n), role: 'notice', body: { text: prompt } },
    { seq: String(n), role: 'tool_result', body: { callId: `call ${n}`, name: 'ask_person', text: answer(n) } },
  ]);
}

const prompts = ['Are you there? (1)', 'are you there? (2)', 'Are you  there? (3)', 'Are you there? (10)'];

test('a question that is asked again and again in vain goes in circles', () => {
  expect(
    callsInCircles(
      asked(prompts, () => 'expired'),
      callOf(9, 'Are you there? (11)'),
    ),
  ).toBe(true);
  expect(
    callsInCircles(
      asked(prompts.slice(1), () => 'expired'),
      callOf(9, 'Are you there? (11)'),
    ),
  ).toBe(false);
});

test('one that is answered in another way each time does not', () => {
  const answers = ['blue', 'red', 'green', 'none'];
  expect(
    callsInCircles(
      asked(prompts, (n) => answers[n] ?? ''),
      callOf(9, 'Are you there? (11)'),
    ),
  ).toBe(false);
});

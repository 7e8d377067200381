import type { TranscriptEntry } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { toldOfInterruption } from './interruption.ts';
import { agentOf, turnOf } from './turn.fixture.ts';

const config = agentOf({ kind: 'echo', delayMs: 0, fail: 0, wordMs: 0 });
const before: TranscriptEntry[] = [{ seq: '1', role: 'user', body: { text: 'how are you' } }];
const said = (entries: readonly TranscriptEntry[] | null) =>
  entries?.map(({ body }) => (body as { text: string }).text);

test('a turn after nothing special is given as it is', () => {
  expect(said(toldOfInterruption({ turn: turnOf(['hi']), config }, before))).toEqual(['how are you', 'hi']);
});

test('a resumed turn is told of the interruption before the message that it answers', () => {
  const turn = { ...turnOf(['hi']), interrupted: { reason: 'restart_interrupted', ageMs: 4000 } };
  expect(said(toldOfInterruption({ turn, config }, before))).toEqual([
    'how are you',
    expect.stringContaining('was interrupted'),
    'hi',
  ]);
});

test('an interruption of long ago is not told', () => {
  const turn = { ...turnOf(['hi']), interrupted: { reason: 'restart_interrupted', ageMs: config.freshnessMs + 1 } };
  expect(said(toldOfInterruption({ turn, config }, before))).toEqual(['how are you', 'hi']);
});

test('a turn of blanks does not reach the model; with a file it does', () => {
  expect(toldOfInterruption({ turn: turnOf([' ']), config }, before)).toBeNull();
  const turn = turnOf(['']);
  const events = turn.events.map((event) => ({ ...event, body: { ...event.body, attachments: [{ name: 'a.png' }] } }));
  expect(toldOfInterruption({ turn: { ...turn, events }, config }, before)).toHaveLength(2);
});

import { expect, test } from 'vitest';
import { LiveText } from './live-text.ts';
import type { StreamEvent } from './stream-events.ts';

const event = (type: string, data: object, attempt = 1) => ({ type, turnId: 'trn_1', attempt, data }) as StreamEvent;
const delta = (offset: number, text: string, more: { part?: number; attempt?: number } = {}) =>
  event('message.delta', { messageId: 'm', part: more.part ?? 0, offset, text }, more.attempt);

function textAfter(...events: StreamEvent[]): string {
  const live = new LiveText();
  for (const one of events) live.add(one);
  return live.text;
}

test('puts deltas together, part by part', () => {
  expect(textAfter(delta(0, 'one '), delta(4, 'two'), delta(0, ' three', { part: 1 }))).toBe('one two three');
});

test('another attempt clears, what comes again is cut, a gap is passed over', () => {
  expect(textAfter(delta(0, 'old'), delta(0, 'new', { attempt: 2 }))).toBe('new');
  expect(textAfter(delta(0, 'one two'), delta(4, 'two three'))).toBe('one two three');
  expect(textAfter(delta(0, 'one'), delta(8, 'three'), delta(10, 'ree four'))).toBe('onethree four');
});

test('a snapshot has what was before, and counts on', () => {
  expect(textAfter(event('turn.snapshot', { messageId: 'm', parts: [{ text: 'so far' }] }), delta(6, ', on'))).toBe(
    'so far, on',
  );
});

test('is empty again when the message is there, or the turn has ended', () => {
  const created = event('message.created', { role: 'assistant', text: 'one' });
  expect(textAfter(delta(0, 'one'), created)).toBe('');
  expect(textAfter(delta(0, 'one'), event('turn.interrupted', { willResume: true }))).toBe('');
  expect(textAfter(delta(0, 'one'), event('message.created', { role: 'user', text: 'q' }))).toBe('one');
});

test('says whether anything has changed', () => {
  const live = new LiveText();
  expect([delta(0, 'a'), delta(0, 'a'), event('run.settled', {})].map((one) => live.add(one))).toEqual([
    true,
    false,
    false,
  ]);
});

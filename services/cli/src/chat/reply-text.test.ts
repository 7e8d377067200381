import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplyText } from './reply-text.ts';

const delta = (offset: number, text: string, attempt = 1) =>
  ({ type: 'message.delta', turnId: 'trn_1', attempt, data: { messageId: 'msg_1', part: 0, offset, text } }) as const;
const created = (text: string, role = 'assistant') =>
  ({ type: 'message.created', data: { messageId: 'msg_1', role, author: 'agent', parts: [], text } }) as const;

function printed(...events: Parameters<ReplyText['next']>[0][]): string {
  const reply = new ReplyText();
  return events.map((event) => reply.next(event)).join('');
}

describe('a reply', () => {
  it('grows by its deltas and is not repeated by the message that holds it whole', () => {
    expect(printed(delta(0, 'hel'), delta(3, 'lo'), created('hello'))).toBe('hello');
  });

  it('without deltas is printed at once', () => {
    expect(printed(created('hello'))).toBe('hello');
  });

  it('whose deltas came twice or overlapped is printed once', () => {
    expect(printed(delta(0, 'hel'), delta(0, 'hel'), delta(1, 'ello'), created('hello!'))).toBe('hello!');
  });

  it('that lost a delta is completed by the message', () => {
    expect(printed(delta(0, 'one '), delta(8, 'three'), created('one two three'))).toBe('one two three');
  });

  it('that a new attempt begins anew stands on a new line', () => {
    expect(printed(delta(0, 'hel'), delta(0, 'good', 2), delta(4, 'bye', 2), created('goodbye'))).toBe('hel\ngoodbye');
  });

  it('that is another than its deltas said is printed whole', () => {
    expect(printed(delta(0, 'draft'), created('final'))).toBe('draft\nfinal');
  });

  it('ignores what people wrote, and events of no text', () => {
    expect(printed(created('me', 'user'), { type: 'turn.started', data: {} })).toBe('');
  });

  it('always ends with the whole text, whatever deltas came', () => {
    const anyDelta = fc.tuple(fc.nat(12), fc.integer({ min: 1, max: 2 })).map(([at, attempt]) => ({ at, attempt }));
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.array(anyDelta), (text, deltas) => {
        const events = deltas.map(({ at, attempt }) => delta(at, text.slice(at, at + 3), attempt));
        expect(printed(...events, created(text)).endsWith(text)).toBe(true);
      }),
    );
  });
});

import { expect, it } from 'vitest';
import { lineOf } from './tail.ts';

const event = { v: 1, at: '2026-01-02T03:04:05.678Z', tenantId: 'ten_x', sessionKey: 'k', sessionId: null } as const;

it('tells an event in one line, whatever stands in its text', () => {
  const data = { messageId: 'msg_x', role: 'assistant', text: `two\nlines${' and more'.repeat(20)}`, parts: [] };
  const line = lineOf({ ...event, type: 'message.created', data });
  expect(line).toMatch(/^03:04:05\.678 {2}k {29}message\.created {5}assistant two lines and more.*…/);
  expect(line).not.toContain('\n');
  expect(line.length).toBeLessThan(140);
});

it('tells how things ended', () => {
  expect(lineOf({ ...event, type: 'turn.finished', data: { status: 'ok' } })).toMatch(/turn\.finished {7}ok$/);
});

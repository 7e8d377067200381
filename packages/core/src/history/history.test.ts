import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AssistantBlock, sanitizeCalls } from './calls.ts';
import { type RepairMessage, repairTranscript } from './repair.ts';
import { historyWindow } from './window.ts';

const callId = fc.constantFrom('1', '2', '3');
const message: fc.Arbitrary<RepairMessage> = fc.oneof(
  fc.constant({ role: 'user', calls: [], callId: null, stopReason: null } as const),
  fc.record({
    role: fc.constant('assistant' as const),
    calls: fc.uniqueArray(callId, { maxLength: 3 }),
    callId: fc.constant(null),
    stopReason: fc.constantFrom(null, null, 'error' as const, 'aborted' as const),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    calls: fc.constant([]),
    callId: fc.option(callId, { nil: null }),
    stopReason: fc.constant(null),
  }),
);
const transcript = fc.array(message, { maxLength: 30 });
const synthesize = (call: string): RepairMessage => ({ role: 'tool', calls: [], callId: call, stopReason: null });

describe('historyWindow', () => {
  const bounds = fc.record({ limit: fc.integer({ min: 1, max: 40 }), lastConsolidated: fc.nat(35) });

  it('keeps a suffix within its bounds that starts with no tool result', () => {
    fc.assert(
      fc.property(transcript, bounds, (messages, { limit, lastConsolidated }) => {
        const { from, to, count } = historyWindow(messages, { limit, lastConsolidated });
        expect(count).toBeLessThanOrEqual(limit);
        expect(from === null).toBe(count === 0);
        if (from === null) return;
        expect(from).toBeGreaterThanOrEqual(lastConsolidated);
        expect(to).toBe(messages.length - 1);
        expect(count).toBe(messages.length - from);
        expect(messages[from]?.role).not.toBe('tool');
      }),
    );
  });

  it('starts at a user message when it holds one', () => {
    fc.assert(
      fc.property(transcript, bounds, (messages, limits) => {
        const kept = messages.slice(historyWindow(messages, limits).from ?? messages.length);
        if (kept.some(({ role }) => role === 'user')) expect(kept[0]?.role).toBe('user');
      }),
    );
  });

  it('never parts a tool call from its result', () => {
    fc.assert(
      fc.property(transcript, bounds, (messages, limits) => {
        const from = historyWindow(messages, limits).from ?? messages.length;
        for (const [i, { role, callId }] of messages.entries()) {
          if (role !== 'tool' || callId === null || i < from) continue;
          const call = messages.findLastIndex((other, at) => at < i && other.calls.includes(callId));
          if (call !== -1) expect(call).toBeGreaterThanOrEqual(from);
        }
      }),
    );
  });

  it('refuses a limit that is not positive', () => {
    for (const limit of [0, -1, Number.NaN]) {
      expect(historyWindow([], { limit, lastConsolidated: 0 }).error).toBe('invalid_limit');
    }
  });
});

describe('repairTranscript', () => {
  it('leaves one result directly after each call of a sound message, and no other result', () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const { messages: repaired } = repairTranscript(messages, synthesize);
        for (let i = 0; i < repaired.length; ) {
          const { role, calls, stopReason } = repaired[i++] as RepairMessage;
          expect(role).not.toBe('tool');
          const results: (string | null)[] = [];
          for (; repaired[i]?.role === 'tool'; i++) results.push(repaired[i]?.callId ?? null);
          if (stopReason === null) expect(results).toEqual(calls);
          else expect(calls).toEqual(expect.arrayContaining(results));
        }
      }),
    );
  });

  it('keeps every user and assistant message in order, and counts each result it dropped or made', () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const report = repairTranscript(messages, synthesize);
        const spoken = (list: readonly RepairMessage[]) => list.filter(({ role }) => role !== 'tool');
        expect(spoken(report.messages)).toEqual(spoken(messages));
        expect(report.messages.length).toBe(
          messages.length - report.orphansDropped - report.duplicatesDropped + report.synthesized,
        );
      }),
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const once = repairTranscript(messages, synthesize).messages;
        const nothing = { orphansDropped: 0, duplicatesDropped: 0, synthesized: 0, moved: false };
        expect(repairTranscript(once, synthesize)).toEqual({ messages: once, ...nothing });
      }),
    );
  });
});

describe('sanitizeCalls', () => {
  it('leaves contents of attachments out and keeps their names', () => {
    const call: AssistantBlock = {
      type: 'toolCall',
      id: '1',
      name: 'send',
      arguments: { to: 'x', attachments: [{ name: 'a.txt', content: 'secret' }, 'raw'] },
    };
    expect(sanitizeCalls([call])).toEqual({
      blocks: [
        {
          ...call,
          arguments: { to: 'x', attachments: [{ name: 'a.txt', content: '[redacted]' }, { content: '[redacted]' }] },
        },
      ],
      attachmentsRedacted: 2,
    });
  });

  it('drops calls without a name or arguments, and says so by an empty list when nothing else is left', () => {
    const call = (name: string | null, given: Record<string, unknown> | null): AssistantBlock => ({
      type: 'toolCall',
      id: '1',
      name,
      arguments: given,
    });
    expect(sanitizeCalls([call(null, {}), call(' ', {}), call('x', null)]).blocks).toEqual([]);
  });
});

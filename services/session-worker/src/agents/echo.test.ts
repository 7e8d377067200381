import type { ResolvedInput } from '@turnkeeper/core';
import { settled, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { echoRuntime } from './echo.ts';
import { agentOf, turnOf } from './turn.fixture.ts';

interface Ask {
  readonly text?: string;
  readonly delayMs?: number;
  readonly fail?: number;
  readonly wordMs?: number;
  readonly tryNumber?: number;
  /** Of the question that the turn goes on from. */
  readonly resolved?: ResolvedInput;
}

function start({ text = 'a text', delayMs = 0, fail = 0, wordMs = 0, tryNumber = 1, resolved }: Ask) {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const emitted: string[] = [];
  const reply = echoRuntime(clock).run({
    turn: turnOf([text]),
    config: agentOf({ kind: 'echo', delayMs, fail, wordMs }),
    tryNumber,
    history: () => Promise.reject(new Error('an echo needs no history')),
    input: async () => resolved ?? null,
    signal: abort.signal,
    emit: (piece) => emitted.push(piece),
  });
  let end = 'none';
  reply.then(
    () => {
      end = 'replied';
    },
    () => {
      end = 'failed';
    },
  );
  return { clock, abort, emitted, reply, end: () => end };
}

describe('the echo runtime', () => {
  it('replies the text unchanged, white space and all, at once and without a timer', async () => {
    const text = '  two\twords\n\nand 🙂 more  ';
    const { clock, reply, emitted } = start({ text });
    expect(clock.sleeping).toBe(0);
    expect(await reply).toEqual({ text, usage: null });
    expect(emitted).toEqual([]);
  });

  it('waits for its delay before it says anything', async () => {
    const { clock, emitted, end } = start({ delayMs: 500, wordMs: 10 });
    await clock.advance(499);
    expect([emitted, end()]).toEqual([[], 'none']);
    await clock.advance(11);
    expect([emitted, end()]).toEqual([['a ', 'text'], 'replied']);
  });

  it('streams word by word, and the words together are the reply', async () => {
    const text = ' one  two\nthree ';
    const { clock, emitted, reply } = start({ text, wordMs: 30 });
    await settled();
    expect(emitted).toEqual([' ']);
    await clock.advance(30);
    expect(emitted).toEqual([' ', 'one  ']);
    await clock.advance(60);
    expect(emitted.join('')).toBe(text);
    expect((await reply).text).toBe(text);
  });

  it('throws in the first tries of a turn, before any word, in a way that is worth another try', async () => {
    for (const tryNumber of [1, 2]) {
      const { reply, emitted } = start({ fail: 2, wordMs: 30, tryNumber });
      await expect(reply).rejects.toMatchObject({ code: 'agent_error', retryable: true });
      expect(emitted).toEqual([]);
    }
    expect((await start({ fail: 2, tryNumber: 3 }).reply).text).toBe('a text');
  });

  it('ends at once when it is aborted, in its delay or between words, and leaves no timer', async () => {
    for (const ask of [{ delayMs: 60_000 }, { wordMs: 60_000 }]) {
      const { clock, abort, end } = start(ask);
      await settled();
      expect(clock.sleeping).toBe(1);
      abort.abort();
      await settled();
      expect([end(), clock.sleeping]).toEqual(['failed', 0]);
    }
  });
});

it('asks when its text says so, replies the answer, and ends with an error when nobody answers', async () => {
  const text = '[[ask 500ms What now?]]';
  const ask = { kind: 'question', text: 'What now?', waitMs: 500 };
  expect(await start({ text }).reply).toMatchObject({ text: '', ask });
  const answered = { outcome: 'answered', answer: { text: 'go on' }, sinceSeq: '1', asked: 1 } as const;
  expect(await start({ text, resolved: answered }).reply).toEqual({ text: 'go on', usage: null });
  const { reply } = start({ text, resolved: { ...answered, outcome: 'expired', answer: null } });
  await expect(reply).rejects.toMatchObject({ code: 'input_expired', retryable: false });
});

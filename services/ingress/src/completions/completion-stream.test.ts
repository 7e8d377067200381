import { EventEmitter } from 'node:events';
import { settled, VirtualClock } from '@turnkeeper/core/testing';
import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { CompletionStream } from './completion-stream.ts';

/** An answer whose reader takes what it is told to. */
class StuckResponse extends EventEmitter {
  readonly written: string[] = [];
  readonly writeHead = () => undefined;
  readonly setTimeout = () => undefined;
  readonly destroyed = false;
  writableLength = 0;
  writableEnded = false;
  write(text: string): void {
    this.written.push(text);
    this.writableLength += text.length;
  }
  take(): void {
    this.writableLength = 0;
    this.emit('drain');
  }
  end(text: string): void {
    this.write(text);
    this.writableEnded = true;
  }
}

function setUp() {
  const [raw, clock, slow] = [new StuckResponse(), new VirtualClock(), [] as string[]];
  const reply = { raw, hijack: () => undefined, getHeaders: () => ({}) } as unknown as FastifyReply;
  const head = { id: 'run_1', created: 1, model: 'main' };
  return { raw, clock, slow, stream: new CompletionStream(reply, { head, clock, onSlow: () => slow.push('slow') }) };
}

const LARGE = 'x'.repeat(300 * 1024);

it('a reader that takes nothing for 30 s is told why and ended', async () => {
  const { raw, clock, slow, stream } = setUp();
  stream.text(LARGE);
  await clock.advance(29_900);
  expect([raw.writableEnded, slow]).toEqual([false, []]);
  await clock.advance(200);
  await settled();
  expect([raw.writableEnded, slow]).toEqual([true, ['slow']]);
  expect(raw.written.at(-1)).toContain('slow_consumer');
  stream.end(null);
  expect(raw.written.at(-1)).toContain('slow_consumer');
});

it('a reader that takes it in time goes on, and has its time anew', async () => {
  const { raw, clock, slow, stream } = setUp();
  for (let i = 0; i < 3; i++) {
    stream.text(LARGE);
    await clock.advance(29_000);
    raw.take();
    await settled();
  }
  stream.end(null);
  expect([raw.written.at(-1), slow, clock.sleeping]).toEqual(['data: [DONE]\n\n', [], 0]);
});

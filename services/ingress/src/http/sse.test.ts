import { EventEmitter } from 'node:events';
import type { TenantId } from '@turnkeeper/core';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { SseConnection } from './sse.ts';

/** An answer whose reader takes nothing. */
class StuckResponse extends EventEmitter {
  readonly written: string[] = [];
  readonly writeHead = () => undefined;
  readonly flushHeaders = () => undefined;
  readonly setTimeout = (_ms: number, onTimeout: () => void) => this.once('stuck', onTimeout);
  readonly destroy = () => this.emit('close');
  writableLength = 0;
  isEnded = false;
  write(text: string): void {
    this.written.push(text);
    this.writableLength += text.length;
  }
  end(text?: string): void {
    if (text !== undefined) this.write(text);
    this.isEnded = true;
  }
}

function setUp() {
  const raw = new StuckResponse();
  const reply = { raw, hijack: () => undefined, getHeaders: () => ({}), isTimed: true };
  const tenantId = '10000000-0000-7000-8000-000000000000' as TenantId;
  const connection = new SseConnection(reply as unknown as FastifyReply, { tenantId, sessionKey: 'k' });
  const types = () => raw.written.map((text) => /^event: (\S+)/.exec(text)?.[1]);
  return { raw, connection, types };
}

const delta = { type: 'message.delta', at: '', sessionKey: 'k', data: { text: 'x'.repeat(100_000) } };
const durable = { ...delta, type: 'message.created', seq: '7' };

describe('a reader that is too slow', () => {
  it('loses deltas first, and still gets what is durable', () => {
    const { connection, types } = setUp();
    for (let i = 0; i < 6; i++) connection.forward(delta);
    connection.forward(durable);
    expect(types().filter((type) => type === 'message.delta')).toHaveLength(3);
    expect(types().at(-1)).toBe('message.created');
  });

  it('is told why and cut off when even that is too much', () => {
    const { raw, connection, types } = setUp();
    let ends = 0;
    connection.onEnd(() => ends++);
    for (let i = 0; i < 20; i++) connection.forward(durable);
    expect([raw.isEnded, connection.isOpen, ends]).toEqual([true, false, 1]);
    expect(types().at(-1)).toBe('stream.closing');
    expect(raw.written.at(-1)).toContain('slow_consumer');
    expect(raw.writableLength).toBeLessThan(1_300_000);
  });

  it('is let go of for good when it takes nothing to the end', () => {
    const { raw, connection } = setUp();
    for (let i = 0; i < 20; i++) connection.forward(durable);
    let isClosed = false;
    raw.once('close', () => {
      isClosed = true;
    });
    raw.emit('stuck');
    expect(isClosed).toBe(true);
  });
});

it('an ended stream takes nothing more, and says once that it ended', () => {
  const { raw, connection, types } = setUp();
  let ends = 0;
  connection.onEnd(() => ends++);
  connection.close('drain', 5, '');
  connection.forward(durable);
  connection.comment();
  expect(types()).toEqual(['stream.closing']);
  expect(raw.written[0]).toContain('"reconnectAfterMs":5');
  connection.onEnd(() => ends++);
  expect(ends).toBe(2);
});

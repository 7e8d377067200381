import { EventEmitter } from 'node:events';
import type { TenantId } from '@turnkeeper/core';
import { settled, VirtualClock } from '@turnkeeper/core/testing';
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
  /** The reader takes all of it. */
  take(): void {
    this.writableLength = 0;
    this.emit('drain');
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
  const clock = new VirtualClock();
  const subject = { tenantId, sessionKey: 'k' };
  const place: { cursor: string | null } = { cursor: null };
  const cursor = () => place.cursor;
  const connection = new SseConnection(reply as unknown as FastifyReply, { subject, clock, cursor });
  const types = () => raw.written.map((text) => /^event: (\S+)/.exec(text)?.[1]);
  return { raw, clock, connection, types, place };
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

  it('is waited for, and gets all once it takes what it was sent', async () => {
    const { raw, clock, connection, types } = setUp();
    let written = 0;
    const writing = (async () => {
      for (; written < 20; written++) {
        connection.forward(durable);
        await connection.drained();
      }
    })();
    while (written < 20) {
      await settled();
      await clock.advance(29_000);
      raw.take();
      await settled();
    }
    await writing;
    expect(types()).toEqual(Array(20).fill('message.created'));
    expect([connection.isOpen, clock.sleeping]).toEqual([true, 0]);
  });

  it('is told why and cut off when it takes nothing for 30 s', async () => {
    const { raw, clock, connection, types } = setUp();
    let ends = 0;
    connection.onEnd(() => ends++);
    for (let i = 0; i < 3; i++) connection.forward(durable);
    const waiting = connection.drained();
    await clock.advance(29_999);
    expect(connection.isOpen).toBe(true);
    await clock.advance(1);
    await waiting;
    expect([raw.isEnded, connection.isOpen, ends]).toEqual([true, false, 1]);
    expect(types().at(-1)).toBe('stream.closing');
    expect(raw.written.at(-1)).toContain('slow_consumer');
  });

  it('that goes away is waited for no longer', async () => {
    const { raw, clock, connection } = setUp();
    for (let i = 0; i < 3; i++) connection.forward(durable);
    const waiting = connection.drained();
    raw.emit('close');
    await waiting;
    expect(clock.sleeping).toBe(0);
  });

  it('is let go of for good when it takes nothing to the end', async () => {
    const { raw, clock, connection } = setUp();
    for (let i = 0; i < 3; i++) connection.forward(durable);
    const waiting = connection.drained();
    await clock.advance(30_000);
    await waiting;
    let isClosed = false;
    raw.once('close', () => {
      isClosed = true;
    });
    raw.emit('stuck');
    expect(isClosed).toBe(true);
  });
});

it('a reader whom nothing durable comes learns from comments where it stands', () => {
  const { raw, connection, place } = setUp();
  connection.comment();
  place.cursor = 't7';
  connection.comment();
  expect(raw.written).toEqual([': \n\n', ': cursor t7\n\n']);
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

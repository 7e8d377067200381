import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SocketLink } from './socket-link.ts';
import { KEY_HOLDER, type SocketPair, SocketPairs } from './socket-pair.fixture.ts';

const LARGE = 'x'.repeat(64 * 1024);
/** More than what the buffers of two kernels take. */
const WRITES_MAX = 1_000;
const UNSENT_BYTES_MAX = 256 * 1024;
const STILL_TURNS = 200;

let pairs: SocketPairs;
beforeEach(() => {
  pairs = new SocketPairs();
});
afterEach(() => pairs[Symbol.asyncDispose]());

async function open(): Promise<SocketPair> {
  const pair = await pairs.open();
  pair.link.belongsTo(KEY_HOLDER);
  return pair;
}

const subject = { sessionKey: 'k' };
const at = '2026-01-01T00:00:00.000Z';

function tell(link: SocketLink, seq: number, text = LARGE): void {
  const event = { type: 'message.created', at, seq, sessionKey: 'k', data: { text } };
  link.durable(event, { ...subject, id: String(seq) });
}

/** Durable events as a stream sends them, until its reader takes no more; how many, and the wait for it. */
async function fill({ link, server }: SocketPair): Promise<{ told: number; drained: Promise<void> }> {
  for (let told = 1; told <= WRITES_MAX; told++) {
    tell(link, told);
    if (await staysFull(server)) return { told, drained: link.drained() };
  }
  throw new Error('it took everything');
}

/** Whether what is unsent stays above the limit, and stays the same, over many turns of the event loop. */
async function staysFull(server: SocketPair['server']): Promise<boolean> {
  let held = server.bufferedAmount;
  for (let turn = 0; turn < STILL_TURNS && held > UNSENT_BYTES_MAX; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (server.bufferedAmount !== held) turn = 0;
    held = server.bufferedAmount;
  }
  return held > UNSENT_BYTES_MAX;
}

describe('a socket that reads nothing', () => {
  it('holds a bounded buffer: what is durable waits, what is not is lost, and 30 s later it is closed as too slow', async () => {
    const slow = await open();
    slow.client.pause();
    const { drained } = await fill(slow);
    const held = slow.server.bufferedAmount;
    expect(held).toBeLessThan(UNSENT_BYTES_MAX + 2 * LARGE.length);
    const delta = { type: 'message.delta', at, sessionKey: 'k', data: { text: LARGE } };
    for (let i = 0; i < 100; i++) slow.link.ephemeral(delta, subject);
    expect(pairs.droppedCount).toBe(100);
    expect(slow.server.bufferedAmount).toBe(held);

    await pairs.clock.advance(29_900);
    expect(slow.link.isOpen).toBe(true);
    await pairs.clock.advance(200);
    await drained;
    expect(slow.link.isOpen).toBe(false);
    // who reads again in time sees what was sent, and why it ended
    slow.client.resume();
    expect(await slow.closed).toBe(1013);
    expect(slow.frames.at(-1)).toMatchObject({ type: 'stream.closing', data: { reason: 'slow_consumer' } });
  });

  it('is cut off when it does not even take the goodbye', async () => {
    const slow = await open();
    slow.client.pause();
    await fill(slow);
    await pairs.clock.advance(31_000);
    const isGone = vi.fn<() => void>();
    slow.link.onGone(isGone);
    await pairs.clock.advance(5_000);
    await vi.waitFor(() => expect(isGone).toHaveBeenCalled(), 10_000);
  });

  it('holds up no other', async () => {
    const [slow, other] = [await open(), await open()];
    slow.client.pause();
    await fill(slow);
    for (let seq = 1; seq <= 50; seq++) {
      tell(other.link, seq);
      await other.link.drained();
    }
    await vi.waitFor(() => expect(other.frames).toHaveLength(50), 10_000);
    expect(other.link.isOpen).toBe(true);
  });

  it('is closed when it asks more than it reads', async () => {
    const greedy = await open();
    greedy.client.pause();
    for (let i = 0; i < WRITES_MAX && greedy.link.isOpen; i++) {
      greedy.link.answer({ type: 'nack', clientId: LARGE, code: 'rate_limited', retryable: true });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(greedy.link.isOpen).toBe(false);
    expect(greedy.server.bufferedAmount).toBeLessThan(1024 * 1024 + 3 * LARGE.length);
  });
});

describe('a reader that was slow for a while', () => {
  it('gets everything durable, in order', async () => {
    const slow = await open();
    slow.client.pause();
    const { told, drained } = await fill(slow);
    slow.client.resume();
    await drained;
    tell(slow.link, told + 1);
    await vi.waitFor(() => expect(slow.frames).toHaveLength(told + 1), 10_000);
    expect(slow.frames.map((frame) => frame['seq'])).toEqual(Array.from({ length: told + 1 }, (_, i) => i + 1));
  });
});

describe('signs of life', () => {
  it('are asked for; who gave none since the last time is cut off', async () => {
    const [alive, dead] = [await open(), await open()];
    dead.client.pause();
    const isGone = vi.fn<() => void>();
    dead.link.onGone(isGone);
    const answered = new Promise((resolve) => alive.server.once('pong', resolve));
    for (const { link } of [alive, dead]) link.ping();
    await answered;
    for (const { link } of [alive, dead]) link.ping();
    await vi.waitFor(() => expect(isGone).toHaveBeenCalled(), 10_000);
    expect(alive.link.isOpen).toBe(true);
  });
});

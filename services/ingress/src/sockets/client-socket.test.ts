import { AppError, StoreError } from '@turnkeeper/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ClientSocket } from './client-socket.ts';
import { JoinedRooms } from './joined-rooms.ts';
import { KeyFrames } from './key-frames.ts';
import { KEY_HOLDER, type SocketPair, SocketPairs } from './socket-pair.fixture.ts';

let pairs: SocketPairs;
beforeEach(() => {
  pairs = new SocketPairs();
});
afterEach(() => pairs[Symbol.asyncDispose]());

const away = () => new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
const laneOf = (key: string) => ({ slot: 0, tenantId: 't', laneId: key });

interface Ways {
  /** What a join does, besides joining. */
  readonly onJoin?: () => Promise<void>;
  readonly onBegin?: () => Promise<void>;
  readonly authenticate?: () => Promise<typeof KEY_HOLDER>;
}

/** A socket of a key whose tenant has every conversation that it asks for. */
async function connect({
  onJoin,
  onBegin,
  authenticate,
}: Ways = {}): Promise<SocketPair & { readonly left: string[] }> {
  const pair = await pairs.open();
  const left: string[] = [];
  const { link, server } = pair;
  // every frame comes at a pace that is allowed
  let frames = 0;
  const join = async ({ laneId }: { laneId: string }) => {
    await onJoin?.();
    return { begin: async () => onBegin?.(), close: () => left.push(laneId) };
  };
  const sessions = {
    find: async (_tenant: unknown, { sessionKey }: { sessionKey: string }) => ({
      lane: laneOf(sessionKey),
      sessionKey,
    }),
  };
  const open = () => {
    link.belongsTo(KEY_HOLDER);
    const onLost = () => link.end(4503, 'store_unavailable');
    const rooms = new JoinedRooms({ link, sessionStreams: { join } as never, passes: () => true, onLost });
    link.answer({ type: 'auth.ok' });
    return new KeyFrames(KEY_HOLDER as never, { link, rooms, parts: { sessions } as never });
  };
  const client = new ClientSocket({
    ...{ link, open, nowMs: () => ++frames * 100, readJson: (text) => JSON.parse(text) },
    authenticate: authenticate ?? (async () => KEY_HOLDER),
  });
  server.on('message', (data) => client.receive(String(data)));
  pair.client.send(JSON.stringify({ type: 'auth', token: 'x' }));
  if (authenticate === undefined) await vi.waitFor(() => expect(pair.frames).toMatchObject([{ type: 'auth.ok' }]));
  return { ...pair, left };
}

/** And waits until the last of them was worked on. */
async function subscribe({ client, frames }: SocketPair, count: number): Promise<void> {
  for (let i = 0; i < count; i++) client.send(JSON.stringify({ type: 'subscribe', sessionKey: `k${i}` }));
  const t = Math.random();
  client.send(JSON.stringify({ type: 'ping', t }));
  await vi.waitFor(() => expect(frames.at(-1)).toEqual({ type: 'pong', t }), 10_000);
}

describe('a socket that follows conversations', () => {
  it('follows a hundred, again and again the same, and is closed with 4413 at one more', async () => {
    const socket = await connect();
    await subscribe(socket, 100);
    await subscribe(socket, 100);
    socket.client.send(JSON.stringify({ type: 'subscribe', sessionKey: 'one more' }));
    expect(await socket.closed).toBe(4413);
    // none of them is listened to any more
    expect(new Set(socket.left).size).toBe(100);
  });

  it('is closed with 4503 when the store is away as it asks, or while it is told what it missed', async () => {
    const asks = await connect({ onJoin: () => Promise.reject(away()) });
    asks.client.send(JSON.stringify({ type: 'subscribe', sessionKey: 'k' }));
    expect(await asks.closed).toBe(4503);
    const reads = await connect({ onBegin: () => Promise.reject(away()) });
    reads.client.send(JSON.stringify({ type: 'subscribe', sessionKey: 'k' }));
    expect(await reads.closed).toBe(4503);
  });
});

describe('a socket whose token cannot be looked at', () => {
  it('is closed with 4503 while the store is away, with 4403 when its tenant is suspended, else with 4401', async () => {
    const faults = [
      [away(), 4503],
      [new AppError({ code: 'tenant_suspended', message: 'suspended' }), 4403],
      [new AppError({ code: 'token_expired', message: 'expired' }), 4401],
    ] as const;
    for (const [fault, code] of faults) {
      const socket = await connect({ authenticate: () => Promise.reject(fault) });
      expect(await socket.closed).toBe(code);
    }
  });
});

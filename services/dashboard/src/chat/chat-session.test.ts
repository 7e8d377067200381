import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ChatSession } from './chat-session.ts';
import type { Frame, Socket } from './room-socket.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sockets that a test speaks for. */
function scene({ token = async (): Promise<string | null> => 't' } = {}) {
  const sockets: { socket: Socket; sent: Frame[] }[] = [];
  const kept = new Map<string, string>();
  const keep = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  };
  const open = (): Socket => {
    const sent: Frame[] = [];
    const socket: Socket = {
      send: (text) => void sent.push(JSON.parse(String(text))),
      close: () => undefined,
      onopen: null,
      onmessage: null,
      onclose: null,
    };
    sockets.push({ socket, sent });
    return socket;
  };
  const make = () => new ChatSession({ open, token, keep });
  const last = () => sockets.at(-1) as { socket: Socket; sent: Frame[] };
  const call = (name: 'onopen' | 'onmessage' | 'onclose', event: object) =>
    (last().socket[name] as ((given: object) => void) | null)?.(event);
  return {
    ...{ sockets, make, last },
    say: (frame: object) => call('onmessage', { data: JSON.stringify(frame) }),
    close: (code: number) => call('onclose', { code }),
    async letIn() {
      await vi.advanceTimersByTimeAsync(0);
      call('onopen', {});
      call('onmessage', { data: JSON.stringify({ type: 'auth.ok', sub: 'ann', rooms: ['r'] }) });
    },
  };
}

const created = (id: string, text: string, clientId?: string) => ({
  ...{ type: 'message.created', id, seq: Number(id), at: '2026-01-01T00:00:00Z', turnId: 't' },
  data: {
    messageId: `m${id}`,
    role: clientId === undefined ? 'assistant' : 'user',
    author: 'agent',
    text,
    parts: [],
    clientId,
  },
});

it('goes on behind its cursor, and sends again what the room has not shown, under the same name', async () => {
  const { make, last, letIn, say, close, sockets } = scene();
  const chat = make();
  chat.start();
  await letIn();
  expect(last().sent).toEqual([
    { type: 'auth', token: 't' },
    { type: 'resume', room: 'r', lastSeq: '0' },
  ]);
  say(created('7', 'hello'));
  chat.send('one');
  const [{ clientId } = { clientId: '' }] = chat.state().outgoing;
  close(1012);
  chat.send('two');
  await vi.advanceTimersByTimeAsync(20_000);
  await letIn();
  expect(sockets).toHaveLength(2);
  expect(last().sent.slice(1)).toMatchObject([
    { type: 'resume', lastSeq: '7' },
    { type: 'message', text: 'one', clientId, resend: true },
    { type: 'message', text: 'two' },
  ]);
  say(created('8', 'one', clientId));
  expect(chat.state().outgoing.map(({ text }) => text)).toEqual(['two']);
  expect(chat.state().entries.map(({ text }) => text)).toEqual(['hello', 'one']);
});

it('tells what others say in the room apart from its own, also when they name their messages alike', async () => {
  const { make, letIn, say } = scene();
  const chat = make();
  chat.start();
  await letIn();
  chat.send('mine');
  const [{ clientId } = { clientId: '' }] = chat.state().outgoing;
  const said = (id: string, from: object) => {
    const event = created(id, id, clientId);
    say({ ...event, data: { ...event.data, from } });
  };
  said('7', { sub: 'bob', name: 'Bob' });
  said('8', { sub: 'eve' });
  expect(chat.state().outgoing).toHaveLength(1);
  said('9', { sub: 'ann', name: 'Ann' });
  expect(chat.state().outgoing).toHaveLength(0);
  expect(chat.state().entries.map(({ from, name }) => [from, name])).toEqual([
    ['other', 'Bob'],
    ['other', undefined],
    ['you', undefined],
  ]);
});

it('keeps what is not sent for another page of the same visitor', async () => {
  const { make, last, letIn } = scene();
  const chat = make();
  chat.start();
  await letIn();
  chat.send('not lost');
  make().start();
  await letIn();
  expect(last().sent.at(-1)).toMatchObject({ type: 'message', text: 'not lost' });
});

it('says why a message is refused for good, and sends it again when it is refused for now', async () => {
  const { make, last, letIn, say } = scene();
  const chat = make();
  chat.start();
  await letIn();
  chat.send('long');
  const [first] = chat.state().outgoing;
  say({ type: 'nack', clientId: first?.clientId, code: 'body_too_large', retryable: false });
  expect(chat.state().outgoing[0]?.fault).toBe('This message is too long.');
  chat.discard(first?.clientId ?? '');
  chat.send('soon');
  say({
    type: 'nack',
    clientId: chat.state().outgoing[0]?.clientId,
    code: 'rate_limited',
    retryable: true,
    retryAfterMs: 500,
  });
  await vi.advanceTimersByTimeAsync(600);
  expect(last().sent.filter(({ text }) => text === 'soon')).toHaveLength(2);
});

it('asks for another token when its own is refused, and ends when that does not help', async () => {
  const token = vi.fn(async () => 't');
  const { make, letIn, close } = scene({ token });
  const chat = make();
  chat.start();
  await letIn();
  for (let i = 0; i < 3; i++) {
    close(4401);
    await vi.advanceTimersByTimeAsync(15_000);
  }
  expect(token.mock.calls.map(([isStale]: unknown[]) => isStale)).toEqual([false, true, true]);
  expect(chat.state()).toMatchObject({ link: 'ended', fault: 'signed_out' });
});

it('takes a socket that says nothing for dead', async () => {
  const { make, letIn, sockets } = scene();
  make().start();
  await letIn();
  await vi.advanceTimersByTimeAsync(80_000);
  expect(sockets.length).toBeGreaterThan(1);
});

it('keeps nothing on its way that has ended unseen, as a typed command does, whichever is told first', async () => {
  const { make, letIn, say } = scene();
  const chat = make();
  chat.start();
  await letIn();
  for (const text of ['/stop', '/new', 'stays']) chat.send(text);
  const [stop, fresh, stays] = chat.state().outgoing.map(({ clientId }) => clientId);
  const settled = (runId: string) => ({ type: 'run.settled', seq: 3, data: { runId, status: 'discarded' } });
  say({ type: 'ack', clientId: stop, runId: 'run_1' });
  expect(chat.state().outgoing).toHaveLength(3);
  say(settled('run_1'));
  say(settled('run_2'));
  say({ type: 'ack', clientId: fresh, runId: 'run_2', duplicate: true });
  say({ type: 'ack', clientId: stays, runId: 'run_3' });
  expect(chat.state().outgoing).toMatchObject([{ text: 'stays', isAccepted: true }]);
});

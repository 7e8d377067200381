import { WebSocket } from 'ws';

interface Frame {
  readonly type: string;
  readonly clientId?: string;
  readonly data?: { readonly offset?: number; readonly text?: string };
}

/** What one socket tells of its turns, in milliseconds. */
export interface RoomTimes {
  readonly accepted: number[];
  /** From the model's first byte. */
  readonly firstToken: number[];
  /** From the model's byte, of every later word. */
  readonly laterTokens: number[];
}

const OPEN_MS = 30_000;

/** A visitor's socket in its room. Texts of the stamping model say when they left it. */
export class RoomSocket {
  readonly #socket: WebSocket;
  readonly #room: string;
  readonly #times: () => RoomTimes;
  readonly #sent = new Map<string, number>();
  #finished: () => void = () => undefined;

  private constructor(socket: WebSocket, room: string, times: () => RoomTimes) {
    this.#socket = socket;
    this.#room = room;
    this.#times = times;
  }

  /** Resolves when the room is replayed and live. `times`: where what is seen goes at that moment. */
  static async open(url: string, visitor: { readonly token: string; readonly room: string }, times: () => RoomTimes) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, 'turnkeeper.v1');
    const room = new RoomSocket(socket, visitor.room, times);
    const isLive = Promise.withResolvers<void>();
    const timer = setTimeout(() => isLive.reject(new Error('a socket did not open')), OPEN_MS);
    socket.on('error', (error) => isLive.reject(error));
    socket.on('close', (code) => isLive.reject(new Error(`a socket closed with ${code}`)));
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token: visitor.token })));
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.type === 'auth.ok') socket.send(JSON.stringify({ type: 'resume', room: visitor.room, lastSeq: 0 }));
      if (frame.type === 'stream.replayed') isLive.resolve();
      room.#onFrame(frame);
    });
    await isLive.promise;
    clearTimeout(timer);
    return room;
  }

  /** Says something; resolves when its turn is finished. */
  async turn(clientId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = resolve;
    this.#sent.set(clientId, performance.now());
    this.#socket.send(JSON.stringify({ type: 'message', room: this.#room, clientId, text: 'go on' }));
    await promise;
  }

  /** From now on nothing is taken from the network. */
  stopReading(): void {
    this.#socket.pause();
  }

  /** Says something and does not care. */
  say(clientId: string, text: string): void {
    this.#socket.send(JSON.stringify({ type: 'message', room: this.#room, clientId, text }));
  }

  close(): void {
    this.#socket.terminate();
  }

  #onFrame({ type, clientId, data }: Frame): void {
    const nowMs = performance.now();
    if (type === 'ack') this.#times().accepted.push(nowMs - (this.#sent.get(clientId ?? '') ?? nowMs));
    if (type === 'turn.finished') this.#finished();
    if (type !== 'message.delta') return;
    for (const [i, stamp] of (data?.text ?? '').trim().split(' ').entries()) {
      const isFirst = data?.offset === 0 && i === 0;
      (isFirst ? this.#times().firstToken : this.#times().laterTokens).push(nowMs - Number(stamp) / 1000);
    }
  }
}

/** A web chat client for tests: a real socket, and what came over it. */
import { WebSocket } from 'ws';

export interface Frame {
  readonly type: string;
  readonly seq?: number;
  readonly id?: string;
  readonly room?: string;
  readonly clientId?: string;
  readonly sessionKey?: string | null;
  readonly code?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly [name: string]: unknown;
}

export interface ChatOptions {
  readonly token?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const WAIT_MS = 30_000;

export class ChatClient implements Disposable {
  readonly frames: Frame[] = [];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;
  #onFrame: (() => void) | undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => {
        resolve(code);
        this.#onFrame?.();
      });
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)));
      this.#onFrame?.();
    });
  }

  /** Connects; with a token it says who it is, and waits until that is known. Rejects with the status of a refusal. */
  static async connect(url: string, { token, query = '', headers = {} }: ChatOptions = {}): Promise<ChatClient> {
    const address = `${url.replace('http', 'ws')}/v1/ws${query}`;
    const socket = new WebSocket(address, 'turnkeeper.v1', { headers });
    const client = new ChatClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('unexpected-response', (_request, answer) => {
        reject(new Error(String(answer.statusCode)));
        answer.destroy();
      });
    });
    if (token === undefined) return client;
    client.send({ type: 'auth', token });
    await client.next(({ type }) => type === 'auth.ok');
    return client;
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  say(room: string, clientId: string, text: string): void {
    this.send({ type: 'message', room, clientId, text });
  }

  /** The first frame that it is, also among those that came before. */
  async next(isIt: (frame: Frame) => boolean, waitMs = WAIT_MS): Promise<Frame> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const found = this.frames.find(isIt);
      if (found !== undefined) return found;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0 || this.socket.readyState >= WebSocket.CLOSING) {
        throw new Error(`no such frame among ${this.frames.map(({ type }) => type).join(' ')}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#onFrame = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  answerTo(clientId: string): Promise<Frame> {
    return this.next((frame) => ['ack', 'nack'].includes(frame.type) && frame.clientId === clientId);
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}

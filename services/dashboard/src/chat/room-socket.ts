/** Of the browser's WebSocket, what is used here. */
export type Socket = Pick<WebSocket, 'send' | 'close' | 'onopen' | 'onmessage' | 'onclose'>;

export type LinkState = 'connecting' | 'online' | 'reconnecting' | 'ended';
/** Why the link has ended for good. */
export type LinkFault = 'signed_out' | 'not_allowed' | 'no_token';

export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

export interface RoomSocketOptions {
  readonly open: () => Socket;
  /** `isStale`: the last one is not good any more. Null: there is none. */
  readonly token: (isStale: boolean) => Promise<string | null>;
  readonly onState: (state: LinkState, fault: LinkFault | null) => void;
  /** The server knows us; called on every connection. */
  readonly onReady: (rooms: readonly string[], sub: string) => void;
  readonly onFrame: (frame: Frame) => void;
}

const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 10_000;
const PING_MS = 20_000;
/** What says nothing for so long is dead. */
const SILENCE_MS_MAX = 45_000;
const REFUSED_TOKENS_MAX = 2;
const UNAUTHENTICATED = new Set([4401, 4408]);
const FORBIDDEN = new Set([4403, 4404]);

/**
 * A socket that is there again whenever it can be:
 *
 *  connecting ─ auth → auth.ok ─► online ─ lost ─► reconnecting ─ pause, or `wake` ─► connecting …
 *
 * It ends for good when this visitor is not let in.
 */
export class RoomSocket {
  readonly #options: RoomSocketOptions;
  #socket: Socket | null = null;
  #isOnline = false;
  #isEnded = false;
  #failures = 0;
  #refused = 0;
  #heardMs = 0;
  #askedPauseMs: number | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setInterval> | undefined;

  constructor(options: RoomSocketOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.onState('connecting', null);
    void this.#connect();
  }

  get isOnline(): boolean {
    return this.#isOnline;
  }

  send(frame: Frame): void {
    if (this.#isOnline) this.#socket?.send(JSON.stringify(frame));
  }

  /** There is a reason to be quick: the network is back, the page is looked at, something is to be sent. */
  wake(): void {
    if (this.#isEnded || this.#socket !== null || this.#retry === undefined) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    let token: string | null;
    try {
      token = await this.#options.token(this.#refused > 0);
    } catch {
      this.#later();
      return;
    }
    if (token === null) {
      this.#end('no_token');
      return;
    }
    const socket = this.#options.open();
    this.#socket = socket;
    this.#heardMs = Date.now();
    socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', token }));
    socket.onmessage = ({ data }) => this.#heard(String(data));
    socket.onclose = ({ code }) => this.#lost(socket, code);
    this.#ping = setInterval(() => this.#check(socket), PING_MS);
  }

  #heard(text: string): void {
    this.#heardMs = Date.now();
    const frame = JSON.parse(text) as Frame;
    if (frame.type === 'auth.ok') {
      this.#isOnline = true;
      this.#failures = 0;
      this.#refused = 0;
      this.#options.onState('online', null);
      this.#options.onReady((frame['rooms'] ?? []) as string[], String(frame['sub']));
      return;
    }
    if (frame.type === 'stream.closing') {
      this.#askedPauseMs = (frame['data'] as { reconnectAfterMs?: number }).reconnectAfterMs ?? null;
    }
    this.#options.onFrame(frame);
  }

  #check(socket: Socket): void {
    if (Date.now() - this.#heardMs <= SILENCE_MS_MAX) this.send({ type: 'ping', t: Date.now() });
    else {
      socket.close();
      this.#lost(socket, 1006);
    }
  }

  #lost(socket: Socket, code: number): void {
    if (this.#socket !== socket) return;
    clearInterval(this.#ping);
    this.#socket = null;
    this.#isOnline = false;
    if (UNAUTHENTICATED.has(code)) this.#refused++;
    if (this.#refused > REFUSED_TOKENS_MAX) this.#end('signed_out');
    else if (FORBIDDEN.has(code)) this.#end('not_allowed');
    else this.#later();
  }

  #later(): void {
    this.#options.onState('reconnecting', null);
    const bound = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** this.#failures++);
    const pauseMs = this.#askedPauseMs ?? bound * (0.5 + Math.random() / 2);
    this.#askedPauseMs = null;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#connect();
    }, pauseMs);
  }

  #end(fault: LinkFault): void {
    this.#isEnded = true;
    this.#options.onState('ended', fault);
  }
}

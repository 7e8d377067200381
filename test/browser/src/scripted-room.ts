import type { Page, Route, WebSocketRoute } from 'playwright-core';

type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** The other end of a page's socket, played by a test: what a server would say, said when the test wants it. */
export class ScriptedRoom {
  readonly frames: Frame[] = [];
  /** While true, nobody is let in. */
  isAway = false;
  /** What an upload is answered; null: it is not answered at all. */
  uploadAnswer: { readonly status: number; readonly body: object } | null = { status: 201, body: {} };
  /** Names of the files that came. */
  readonly uploads: string[] = [];
  #socket: WebSocketRoute | null = null;
  readonly #log: object[] = [];
  #seq = 0;

  /** From now on the page's sockets come here. */
  async takeOver(page: Page): Promise<void> {
    await page.route('**/chat/token', (route) => route.fulfill({ json: { token: 'a.b.c' } }));
    await page.route('**/v1/uploads**', (route) => this.#upload(route));
    await page.routeWebSocket('**/v1/ws', (socket) => {
      if (this.isAway) {
        void socket.close({ code: 1012 });
        return;
      }
      this.#socket = socket;
      socket.onMessage((text) => this.#take(JSON.parse(String(text)) as Frame));
    });
  }

  cut(): void {
    void this.#socket?.close({ code: 1012 });
    this.#socket = null;
  }

  /** A durable event: it comes again to who comes back without it. */
  tell(type: string, data: object, more: object = {}): void {
    const seq = ++this.#seq;
    const event = {
      v: 1,
      type,
      at: new Date().toISOString(),
      room: 'r',
      seq,
      id: String(seq),
      turnId: 'trn_1',
      data,
      ...more,
    };
    this.#log.push(event);
    this.say(event);
  }

  delta(offset: number, text: string): void {
    const data = { messageId: 'msg_live', part: 0, offset, text };
    this.say({ v: 1, type: 'message.delta', at: new Date().toISOString(), turnId: 'trn_1', attempt: 1, data });
  }

  message(role: 'user' | 'assistant', text: string, more: object = {}): void {
    this.tell('message.created', {
      messageId: `msg_${this.#seq}`,
      role,
      author: role === 'user' ? 'human' : 'agent',
      text,
      parts: [],
      ...more,
    });
  }

  say(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  async #upload(route: Route): Promise<void> {
    const name = new URL(route.request().url()).searchParams.get('name') ?? '';
    this.uploads.push(name);
    if (this.uploadAnswer === null) return;
    const { status, body } = this.uploadAnswer;
    const mime = route.request().headers()['content-type'];
    await route.fulfill({ status, json: { attachmentId: `att_${this.uploads.length}`, mime, ...body } });
  }

  #take(frame: Frame): void {
    this.frames.push(frame);
    if (frame.type === 'auth') this.say({ type: 'auth.ok', sub: 'v', rooms: ['r'] });
    if (frame.type === 'ping') this.say({ type: 'pong' });
    if (frame.type === 'resume') {
      this.say({ type: 'stream.open', data: { replayFrom: Number(frame['lastSeq']), headSeq: this.#seq } });
      for (const event of this.#log.slice(Number(frame['lastSeq']))) this.say(event);
      this.say({ type: 'stream.replayed', data: { replayedTo: this.#seq, pending: [] } });
    }
    if (frame.type === 'message')
      this.say({ type: 'ack', clientId: frame['clientId'], eventId: 'e', runId: 'r', duplicate: false });
  }
}

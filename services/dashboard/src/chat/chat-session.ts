import type { StreamEvent } from '@turnkeeper/client';
import { Conversation, type View } from './conversation.ts';
import { Outbox, type Outgoing, type Upload } from './outbox.ts';
import { type Frame, type LinkFault, type LinkState, RoomSocket, type Socket } from './room-socket.ts';
import { wordsFor } from './words.ts';

export interface ChatSessionOptions {
  readonly open: () => Socket;
  readonly token: (isStale: boolean) => Promise<string | null>;
  readonly keep: Pick<Storage, 'getItem' | 'setItem'> | null;
  /** The room to be in; the first of the token's when left out. */
  readonly room?: string | undefined;
}

/** Everything that is shown. A new object whenever something has changed. */
export interface ChatState extends View {
  readonly link: LinkState;
  readonly fault: LinkFault | null;
  readonly outgoing: readonly Outgoing[];
  /** What was said to the question that is open, and has not come to it yet. */
  readonly answered: string | null;
  /** Something that went wrong, in words. */
  readonly alert: string | null;
  /** The past is here: what is shown is not half of it. */
  readonly isLoaded: boolean;
}

const RESEND_MS = 2_000;
/** An `ack` that comes behind the end of its run is a few events late at most. */
const SETTLED_MAX = 500;

/**
 * One room of one visitor. Nothing is lost when the socket is: events go on behind the cursor, and a message stays in the
 * outbox under its clientId, is sent again on each connection, and leaves when the room shows it.
 */
export class ChatSession {
  readonly #options: ChatSessionOptions;
  readonly #socket: RoomSocket;
  readonly #conversation = new Conversation();
  readonly #listeners = new Set<() => void>();
  #room: string | null = null;
  #outbox: Outbox | null = null;
  readonly #settled = new Set<string>();
  #state: ChatState;
  #seenSeq = 0;

  constructor(options: ChatSessionOptions) {
    this.#options = options;
    this.#socket = new RoomSocket({
      open: options.open,
      token: options.token,
      onState: (link, fault) => this.#show({ link, fault }),
      onReady: (rooms, sub) => this.#enter(rooms, sub),
      onFrame: (frame) => this.#take(frame),
    });
    const nothing = { outgoing: [], answered: null, alert: null, isLoaded: false };
    this.#state = { ...this.#conversation.view, link: 'connecting', fault: null, ...nothing };
  }

  start(): void {
    this.#socket.start();
  }

  /** For React's `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly state = (): ChatState => this.#state;

  send(text: string, uploads: readonly Upload[] = []): void {
    const message = this.#outbox?.add({ text, uploads });
    if (message === undefined) return;
    this.#show({ outgoing: this.#waiting(), alert: null });
    this.#post(message, false);
    this.#socket.wake();
  }

  /** Tries a refused message again, as a new one. */
  retry({ clientId, text, uploads }: Outgoing): void {
    this.discard(clientId);
    this.send(text, uploads);
  }

  discard(clientId: string): void {
    this.#outbox?.remove(clientId);
    this.#show({ outgoing: this.#waiting() });
  }

  /** Answers the question that is open; without a connection once there is one again. */
  answer(inputId: string, text: string): void {
    this.#conversation.answer(inputId, text);
    this.#show({ answered: this.#conversation.answered, alert: null });
    this.#socket.send({ type: 'input.answer', inputId, text });
    this.#socket.wake();
  }

  stop(): void {
    if (this.#room !== null) this.#socket.send({ type: 'stop', room: this.#room });
  }

  /** Somebody looks at the page. */
  wake(): void {
    this.#socket.wake();
    this.#tellSeen();
  }

  #enter(rooms: readonly string[], sub: string): void {
    this.#conversation.isSeenBy(sub);
    const room = this.#options.room ?? rooms[0];
    if (room === undefined) return;
    this.#room = room;
    this.#outbox ??= new Outbox(this.#options.keep, room);
    this.#socket.send({ type: 'resume', room, lastSeq: this.#conversation.cursor });
    for (const message of this.#outbox.waiting) if (message.fault === undefined) this.#post(message, true);
    this.#show({ outgoing: this.#waiting() });
  }

  #post({ clientId, text, uploads }: Outgoing, resend: boolean): void {
    if (this.#room === null) return;
    const files = uploads.length === 0 ? {} : { uploads };
    this.#socket.send({ type: 'message', room: this.#room, clientId, text, ...files, ...(resend ? { resend } : {}) });
  }

  #take(frame: Frame): void {
    if (frame.type === 'ack') this.#outbox?.accepted(String(frame['clientId']), String(frame['runId']));
    else if (frame.type === 'nack') this.#refused(frame);
    else if (frame.type === 'error') this.#show({ alert: wordsFor((frame['data'] as { code: string }).code) });
    else if (frame.type !== 'pong') this.#event(frame as unknown as StreamEvent & { id?: string });
    this.#outbox?.ended(this.#settled);
    const { view, answered } = this.#conversation;
    this.#show({ ...view, answered, outgoing: this.#waiting() });
  }

  #event(event: StreamEvent & { readonly id?: string }): void {
    const shown = this.#conversation.add(event);
    if (shown !== null) this.#outbox?.remove(shown);
    if (event.type === 'run.settled') this.#ended(event.data.runId);
    if (event.type === 'stream.replayed') this.#replayed();
    if (event.type === 'run.settled' || event.type === 'message.created') this.#seenSeq = event.seq ?? this.#seenSeq;
    if (event.type === 'message.created' && event.data.role === 'assistant') this.#tellSeen();
  }

  /** The past is here: a question that is still open did not get what was said to it. */
  #replayed(): void {
    const { view, answered } = this.#conversation;
    if (view.question !== null && answered !== null)
      this.#socket.send({ type: 'input.answer', inputId: view.question.inputId, text: answered });
    this.#show({ isLoaded: true });
  }

  #ended(runId: string): void {
    this.#settled.add(runId);
    const [oldest] = this.#settled;
    if (this.#settled.size > SETTLED_MAX && oldest !== undefined) this.#settled.delete(oldest);
  }

  #refused({ clientId, code, retryable, retryAfterMs }: Frame): void {
    const message = this.#waiting().find((one) => one.clientId === clientId);
    if (message === undefined) return;
    if (retryable !== true) {
      this.#outbox?.failed(message.clientId, wordsFor(String(code)));
      return;
    }
    this.#show({ alert: wordsFor(String(code)) });
    setTimeout(() => this.#again(message.clientId), Number(retryAfterMs ?? RESEND_MS));
  }

  #again(clientId: string): void {
    const message = this.#waiting().find((one) => one.clientId === clientId && !one.isAccepted);
    if (message !== undefined) this.#post(message, true);
    this.#show({ alert: null });
  }

  #tellSeen(): void {
    const isLookedAt = typeof document !== 'undefined' && document.visibilityState === 'visible';
    if (this.#room !== null && isLookedAt && this.#seenSeq > 0)
      this.#socket.send({ type: 'seen', room: this.#room, seq: this.#seenSeq });
  }

  #waiting(): readonly Outgoing[] {
    return this.#outbox?.waiting ?? [];
  }

  #show(part: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) listener();
  }
}

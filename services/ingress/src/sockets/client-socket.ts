import { AppError, type HttpErrorCode, StoreError } from '@turnkeeper/core';
import { CLOSE_CODES, type ClientFrame, ClientFrameSchema, type CloseCode } from '@turnkeeper/protocol';
import type { Principal } from '../http/access.ts';
import { FrameBucket } from './frame-bucket.ts';
import type { SocketLink } from './socket-link.ts';

export interface ClientSocketOptions {
  readonly link: SocketLink;
  readonly nowMs: () => number;
  /** Parses and cleans the text of a frame. @throws AppError `invalid_json` */
  readonly readJson: (text: string) => unknown;
  /** Who a token stands for. @throws AppError; StoreError */
  readonly authenticate: (token: string) => Promise<Principal>;
  /** Called once, when it is known whose socket it is; the result takes its frames, one after the other. */
  readonly open: (principal: Principal) => FrameHandler;
}

/** Frames of one client. What it throws is told to the client as `error`. */
export interface FrameHandler {
  handle(frame: ClientFrame): Promise<void>;
}

/** Frames that are kept while the one before them is worked on. */
const WAITING_MAX = 120;
const BAD_FRAMES_MAX = 3;

/**
 * The life of one socket, as its frames see it (surface §4):
 *
 *  connected ─ auth within 5 s, unless a header or ticket said who ─► known ─ frames, one after the other ─► closed
 *
 * A frame is worked on when the one before it is done, a message when the one before it is committed: so what one socket
 * sends is accepted in the order in which it came. The third frame that is none closes the socket; too many frames do.
 */
export class ClientSocket {
  readonly #options: ClientSocketOptions;
  readonly #bucket: FrameBucket;
  #handler: FrameHandler | null = null;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #badFrames = 0;

  constructor(options: ClientSocketOptions) {
    this.#options = options;
    this.#bucket = new FrameBucket(options.nowMs());
  }

  get isKnown(): boolean {
    return this.#handler !== null;
  }

  /** It was said before the first frame whose socket it is. */
  begin(principal: Principal): void {
    this.#handler = this.#options.open(principal);
  }

  /** A frame as it came; null: it was no text. */
  receive(text: string | null): void {
    const { link, nowMs } = this.#options;
    if (!link.isOpen) return;
    if (!this.#bucket.take(nowMs()) || this.#waiting >= WAITING_MAX) {
      link.end(CLOSE_CODES.rate, 'too many frames');
      return;
    }
    const frame = this.#parse(text);
    if (frame === null) return;
    this.#waiting++;
    this.#last = this.#last
      .then(() => (link.isOpen ? this.#handle(frame) : undefined))
      .finally(() => {
        this.#waiting--;
      });
  }

  #parse(text: string | null): ClientFrame | null {
    try {
      const frame = ClientFrameSchema.safeParse(text === null ? null : this.#options.readJson(text));
      if (frame.success) return frame.data;
      const [issue] = frame.error.issues;
      this.#bad(`${issue?.path.join('.') || 'frame'}: ${issue?.message ?? 'no frame'}`);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#bad('the frame is not JSON');
    }
    return null;
  }

  #bad(detail: string): void {
    const { link } = this.#options;
    link.say('error', { code: 'invalid_field', detail });
    this.#badFrames++;
    if (this.#badFrames >= BAD_FRAMES_MAX) link.end(CLOSE_CODES.malformed, 'three bad frames');
  }

  /** Never rejects. */
  async #handle(frame: ClientFrame): Promise<void> {
    const { link } = this.#options;
    try {
      if (this.#handler === null) await this.#authenticate(frame);
      else if (frame.type === 'auth') this.#bad('auth: this socket is known already');
      else await this.#handler.handle(frame);
    } catch (error) {
      if (error instanceof StoreError) link.end(CLOSE_CODES.storeDown, 'store_unavailable');
      else if (error instanceof AppError) link.say('error', { code: error.code, detail: error.message });
      else throw error;
    }
  }

  async #authenticate(frame: ClientFrame): Promise<void> {
    const { link, authenticate } = this.#options;
    if (frame.type !== 'auth') {
      link.end(CLOSE_CODES.unauthenticated, 'unauthenticated');
      return;
    }
    try {
      const principal = await authenticate(frame.token);
      if (link.isOpen) this.begin(principal);
    } catch (error) {
      // nothing is known of the token then: its client must not take it for a bad one
      if (error instanceof StoreError || !(error instanceof AppError)) throw error;
      link.end(closeCodeOf(error.code), error.code);
    }
  }
}

const FORBIDDEN: ReadonlySet<string> = new Set<HttpErrorCode>([
  'tenant_suspended',
  'scope_missing',
  'origin_not_allowed',
]);

function closeCodeOf(code: string): CloseCode {
  if (code === 'too_many_streams') return CLOSE_CODES.overload;
  return FORBIDDEN.has(code) ? CLOSE_CODES.forbidden : CLOSE_CODES.unauthenticated;
}

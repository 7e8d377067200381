import { follow, type StreamOptions } from '../event-stream.ts';
import type { AnswerOf, BodyOf } from '../operations.ts';
import type { StreamEvent } from '../stream-events.ts';
import { newKey, type Transport, type WriteOptions } from '../transport.ts';
import { isSettled } from './runs.ts';

export type NewMessage = Omit<BodyOf<'createMessage'>, 'idempotencyKey'>;
export type Accepted = AnswerOf<'createMessage'>;

const PATH = '/v1/messages';

/** `/v1/messages` */
export class Messages {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends a message: it is stored when this resolves, and its fate is the run. However often it is tried, it is one message. */
  create(message: NewMessage, { idempotencyKey = newKey(), ...options }: WriteOptions = {}): Promise<Accepted> {
    return this.#transport.json({ method: 'POST', path: PATH, body: message, idempotencyKey }, options);
  }

  /** Sends a message, and gives the events of its run until it has ended. */
  stream(
    message: NewMessage,
    { idempotencyKey = newKey(), ...options }: WriteOptions & StreamOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    // the same call with the same key is the same run, so this is also how it is resumed
    const call = { method: 'POST', path: PATH, query: { stream: true }, body: message, idempotencyKey } as const;
    return follow(this.#transport, { call, isOver: isSettled }, options);
  }
}

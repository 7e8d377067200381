import type { AnswerOf, BodyOf } from '../operations.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type NewClientToken = BodyOf<'createClientToken'>;
export type ClientToken = AnswerOf<'createClientToken'>;
export type StreamTicket = AnswerOf<'createStreamTicket'>;

/** `/v1/client-tokens` and `/v1/stream-tickets`: what browsers are given instead of a key. */
export class Visitors {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A token for one visitor of your site, who may talk in its own rooms and see nothing else. */
  token(visitor: NewClientToken, options?: CallOptions): Promise<ClientToken> {
    return this.#transport.json({ method: 'POST', path: '/v1/client-tokens', body: visitor }, options);
  }

  /** Stands once, for a minute, for what this client is, in the address of an EventSource or WebSocket. */
  ticket(options?: CallOptions): Promise<StreamTicket> {
    return this.#transport.json({ method: 'POST', path: '/v1/stream-tickets' }, options);
  }
}

import { follow, type StreamOptions } from '../event-stream.ts';
import type { EventFilter, StreamEvent } from '../stream-events.ts';
import type { Transport } from '../transport.ts';

export interface EventStreamOptions extends StreamOptions, EventFilter {
  /** Begins behind this cursor of an event; none: from now on. */
  readonly after?: string | undefined;
}

/** `/v1/events`: what happens in all conversations. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The events of the tenant, until you stop: `break`, a signal, or `timeoutMs`. Nodes know cursors for 15 minutes; behind an
   * older one they begin with `stream.reset` and what happens from now on.
   */
  stream({
    after,
    types,
    deltas,
    tools,
    ...options
  }: EventStreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const call = { method: 'GET', path: '/v1/events', query: { types, deltas, tools } } as const;
    return follow(this.#transport, { call, after, isOpaque: true }, options);
  }
}

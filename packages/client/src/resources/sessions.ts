import { follow, type StreamOptions } from '../event-stream.ts';
import { type Listing, listing } from '../listing.ts';
import type { AnswerOf, BodyOf, QueryOf } from '../operations.ts';
import { sessionPath } from '../session-path.ts';
import type { EventFilter, StreamEvent } from '../stream-events.ts';
import { type CallOptions, newKey, type Transport, type WriteOptions } from '../transport.ts';

export type Session = AnswerOf<'getSession'>;
export type SessionControl = AnswerOf<'stopSession'>;
export type HistoryMessage = AnswerOf<'getHistory'>['data'][number];
export type NewOutbound = Omit<BodyOf<'sendOutbound'>, 'idempotencyKey'>;
export type Outbound = AnswerOf<'sendOutbound'>;

/** Needed where a key exists under several agents. */
export interface OfAgent {
  readonly agentId?: string | undefined;
}

export interface SessionStreamOptions extends StreamOptions, EventFilter, OfAgent {
  /** Begins behind this cursor of an event; 0: at the beginning; none: from now on. */
  readonly after?: string | number | undefined;
}

/** `/v1/sessions`: conversations, each named by its session key. */
export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query?: QueryOf<'listSessions'>, options?: CallOptions): Listing<Session> {
    return listing(this.#transport, { path: '/v1/sessions', query }, options);
  }

  get(sessionKey: string, { agentId, ...options }: CallOptions & OfAgent = {}): Promise<Session> {
    return this.#transport.json({ method: 'GET', path: sessionPath(sessionKey), query: { agentId } }, options);
  }

  /** What was said. Going through it begins with the newest; a page is oldest first. */
  history(sessionKey: string, query?: QueryOf<'getHistory'>, options?: CallOptions): Listing<HistoryMessage> {
    return listing(this.#transport, { path: sessionPath(sessionKey, '/history'), query, isReversed: true }, options);
  }

  /** The events of a conversation, until you stop: `break`, a signal, or `timeoutMs`. */
  stream(
    sessionKey: string,
    { after, agentId, types, deltas, tools, ...options }: SessionStreamOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const query = { agentId, types, deltas, tools };
    const call = { method: 'GET', path: sessionPath(sessionKey, '/events'), query } as const;
    return follow(this.#transport, { call, after }, options);
  }

  /** Gives a label, or takes it away (null). */
  label(
    sessionKey: string,
    label: string | null,
    { agentId, ...options }: CallOptions & OfAgent = {},
  ): Promise<SessionControl> {
    const call = { method: 'PATCH', path: sessionPath(sessionKey), query: { agentId }, body: { label } } as const;
    return this.#transport.json(call, options);
  }

  /** Deletes a conversation with all that was said in it. */
  delete(sessionKey: string, { agentId, ...options }: CallOptions & OfAgent = {}): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: sessionPath(sessionKey), query: { agentId } }, options);
  }

  /** Ends the turn that runs and the first message that waits. */
  stop(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'stop', options);
  }

  /** A person takes over: messages are stored, no turn starts. */
  pause(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'pause', options);
  }

  unpause(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'unpause', options);
  }

  /** The next message begins a fresh session; `resume` takes that back. */
  suspend(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'suspend', options);
  }

  resume(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'resume', options);
  }

  archive(sessionKey: string, options?: CallOptions & OfAgent): Promise<SessionControl> {
    return this.#control(sessionKey, 'archive', options);
  }

  /** Ends all that runs and waits; the next message begins a fresh session. */
  reset(
    sessionKey: string,
    { agentId, idempotencyKey = newKey(), ...options }: WriteOptions & OfAgent = {},
  ): Promise<SessionControl> {
    const path = sessionPath(sessionKey, '/reset');
    return this.#transport.json({ method: 'POST', path, query: { agentId }, body: {}, idempotencyKey }, options);
  }

  /** Sends a message without a turn, behind all that the conversation is owed. */
  outbound(
    sessionKey: string,
    message: NewOutbound,
    { agentId, idempotencyKey = newKey(), ...options }: WriteOptions & OfAgent = {},
  ): Promise<Outbound> {
    const path = sessionPath(sessionKey, '/outbound');
    return this.#transport.json({ method: 'POST', path, query: { agentId }, body: message, idempotencyKey }, options);
  }

  #control(
    sessionKey: string,
    verb: 'stop' | 'pause' | 'unpause' | 'suspend' | 'resume' | 'archive',
    { agentId, ...options }: CallOptions & OfAgent = {},
  ): Promise<SessionControl> {
    return this.#transport.json(
      { method: 'POST', path: sessionPath(sessionKey, `/${verb}`), query: { agentId } },
      options,
    );
  }
}

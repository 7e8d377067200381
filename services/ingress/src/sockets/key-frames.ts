import {
  type AgentId,
  AppError,
  type InputId,
  parseId,
  type Scope,
  type SessionReads,
  type SessionRecord,
} from '@turnkeeper/core';
import { CLOSE_CODES, type ClientFrame } from '@turnkeeper/protocol';
import type { Caller } from '../http/access.ts';
import { type AnsweringParts, answerInput } from '../http/inputs.ts';
import type { Targets } from '../intake/targets.ts';
import type { FrameHandler } from './client-socket.ts';
import type { JoinedRooms } from './joined-rooms.ts';
import type { SocketLink } from './socket-link.ts';

export interface KeyFrameParts extends AnsweringParts {
  readonly sessions: Pick<SessionReads, 'find'>;
  readonly targets: Pick<Targets, 'agent'>;
}

type Subscription = Extract<ClientFrame, { readonly type: 'subscribe' | 'unsubscribe' }>;

/** What the frames of a tenant's key do: it follows conversations and answers questions. Rooms are for visitors. */
export class KeyFrames implements FrameHandler {
  readonly #caller: Caller;
  readonly #link: SocketLink;
  readonly #rooms: JoinedRooms;
  readonly #parts: KeyFrameParts;

  constructor(
    caller: Caller,
    { link, rooms, parts }: { readonly link: SocketLink; readonly rooms: JoinedRooms; readonly parts: KeyFrameParts },
  ) {
    this.#caller = caller;
    this.#link = link;
    this.#rooms = rooms;
    this.#parts = parts;
  }

  async handle(frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case 'ping':
        return this.#link.answer({ type: 'pong', ...(frame.t === undefined ? {} : { t: frame.t }) });
      case 'subscribe':
      case 'unsubscribe':
        return this.#subscription(frame);
      case 'input.answer':
        return this.#answer(frame);
      case 'message':
        return this.#link.answer({ type: 'nack', clientId: frame.clientId, code: 'scope_missing', retryable: false });
      default:
        throw new AppError({ code: 'scope_missing', message: 'rooms are for visitors with a client token' });
    }
  }

  async #subscription(frame: Subscription): Promise<void> {
    const { lane, sessionKey } = await this.#find(frame);
    if (frame.type === 'unsubscribe') this.#rooms.leave(lane.laneId);
    else if (!(await this.#rooms.join(lane, { sessionKey }, frame.after ?? null)))
      this.#link.end(CLOSE_CODES.subscriptions, 'too many subscriptions');
  }

  async #find({ sessionKey, agentId: named }: Subscription): Promise<SessionRecord> {
    const { tenantId } = this.#caller.tenant;
    const { sessions, targets } = this.#parts;
    const agentId: AgentId | undefined =
      named === undefined ? undefined : (await targets.agent(tenantId, named)).agentId;
    const found = await sessions.find(tenantId, { by: 'key', sessionKey, agentId });
    if (found === 'ambiguous')
      throw new AppError({ code: 'ambiguous', message: 'the key exists under several agents; add agentId' });
    if (found === 'missing') throw new AppError({ code: 'session_not_found', message: 'no such session' });
    return found;
  }

  async #answer({ inputId, text }: Extract<ClientFrame, { readonly type: 'input.answer' }>): Promise<void> {
    this.#needs('messages:write');
    const answer = { inputId: parseId<InputId>(inputId, 'inp'), text };
    await answerInput(this.#caller.tenant.tenantId, answer, this.#parts);
  }

  #needs(scope: Scope): void {
    if (this.#caller.key.scopes.includes(scope)) return;
    throw new AppError({ code: 'scope_missing', message: `the key lacks the scope ${scope}` });
  }
}

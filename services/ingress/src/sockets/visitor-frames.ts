import { hash } from 'node:crypto';
import { parseMessageFrame } from '@turnkeeper/channels';
import {
  type Acceptance,
  type AcceptMessage,
  AppError,
  type AttachmentRecords,
  type Clock,
  type ControlSignals,
  type ControlStore,
  commandOf,
  digestId,
  type EventKind,
  formatId,
  type Ids,
  type InboundMessage,
  type InputId,
  type InputReads,
  type InputStore,
  type LaneId,
  type LaneRef,
  type LiveStream,
  parseId,
  type SeenMarks,
  type SessionId,
  StoreError,
  type TypedCommands,
} from '@turnkeeper/core';
import { CLOSE_CODES, type ClientFrame } from '@turnkeeper/protocol';
import canonicalize from 'canonicalize';
import { answerInput } from '../http/inputs.ts';
import type { RateGate } from '../http/rate-gate.ts';
import type { IntakeMetrics } from '../intake/intake-metrics.ts';
import { filesOf } from '../intake/message-files.ts';
import type { ControlledLane } from '../runs/announce-end.ts';
import type { StreamCursor } from '../streams/stream-filter.ts';
import { ownWorkIn, type Room, roomOf, roomsOf, roomWith, type Visitor } from '../visitors/visitor.ts';
import type { FrameHandler } from './client-socket.ts';
import type { JoinedRooms } from './joined-rooms.ts';
import type { SocketLink } from './socket-link.ts';

export interface VisitorFrameParts {
  readonly acceptMessage: Pick<AcceptMessage, 'accept' | 'laneOf'>;
  readonly typedCommands: Pick<TypedCommands, 'give'>;
  readonly rates: Pick<RateGate, 'allows'>;
  readonly control: Pick<ControlStore, 'control'>;
  readonly inputs: Pick<InputStore, 'answer'> & InputReads;
  readonly seenMarks: SeenMarks;
  readonly attachments: Pick<AttachmentRecords, 'find'>;
  readonly signals: Pick<ControlSignals, 'stopTurn'>;
  readonly announceControl: (controlled: ControlledLane) => void;
  readonly metrics: Pick<IntakeMetrics, 'answered'>;
  readonly live: Pick<LiveStream, 'publish' | 'isWatched'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

type FrameOf<Type extends ClientFrame['type']> = Extract<ClientFrame, { readonly type: Type }>;

/**
 * What a visitor's frames do, in its own rooms. A frame that names any other closes the socket, a message is refused, each
 * as if there were no such room: foreign and missing are alike.
 */
export class VisitorFrames implements FrameHandler {
  readonly #visitor: Visitor;
  readonly #link: SocketLink;
  readonly #rooms: JoinedRooms;
  readonly #parts: VisitorFrameParts;
  /** What was told last of who types here; no lane: that it has stopped. */
  #typed: { readonly atMs: number; readonly laneId: LaneId | null } = { atMs: Number.NEGATIVE_INFINITY, laneId: null };

  constructor(
    visitor: Visitor,
    {
      link,
      rooms,
      parts,
    }: { readonly link: SocketLink; readonly rooms: JoinedRooms; readonly parts: VisitorFrameParts },
  ) {
    this.#visitor = visitor;
    this.#link = link;
    this.#rooms = rooms;
    this.#parts = parts;
  }

  async handle(frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case 'message':
        return this.#message(frame);
      case 'ping':
        return this.#link.answer({ type: 'pong', ...(frame.t === undefined ? {} : { t: frame.t }) });
      case 'input.answer':
        return this.#answer(frame);
      case 'subscribe':
      case 'unsubscribe':
        return this.#subscription(frame);
      case 'auth':
        return;
      default:
        return this.#inRoom(frame);
    }
  }

  async #inRoom(frame: FrameOf<'resume' | 'stop' | 'seen' | 'typing'>): Promise<void> {
    const room = roomOf(this.#visitor, frame.room);
    if (room === null) {
      this.#link.end(CLOSE_CODES.room, 'no such room');
      return;
    }
    if (frame.type === 'resume') await this.#join(room, frame.lastSeq);
    else if (frame.type === 'stop') await this.#stop(room);
    else if (frame.type === 'seen') await this.#parts.seenMarks.seen(this.#laneOf(room), frame.seq);
    else this.#typing(room, frame.active ?? true);
  }

  /**
   * Told to those who read the room now, and to nobody later; more often than that it says nothing new. A stop is told
   * at once, but only of what was told to have begun.
   */
  #typing({ sessionKey, ...room }: Room, active: boolean): void {
    const { clock, live } = this.#parts;
    const nowMs = clock.monotonicMs();
    const lane = this.#laneOf({ sessionKey, ...room });
    const isNews = active ? nowMs - this.#typed.atMs >= TYPING_MS : this.#typed.laneId === lane.laneId;
    if (!isNews || !live.isWatched(lane)) return;
    this.#typed = { atMs: nowMs, laneId: active ? lane.laneId : null };
    const data = { activity: 'typing', by: 'human', from: this.#link.id, active };
    live.publish(lane, { type: 'turn.activity', at: new Date(clock.nowMs()).toISOString(), sessionKey, data });
  }

  /** Accepted one after the other, each before the next is looked at; what comes of it is seen from the start. */
  async #message(frame: FrameOf<'message'>): Promise<void> {
    const { clientId } = frame;
    try {
      const room = roomOf(this.#visitor, frame.room);
      if (room === null) throw new AppError({ code: 'session_not_found', message: 'no such room' });
      if (frame.text === '' && (frame.uploads ?? []).length === 0)
        throw new AppError({ code: 'invalid_field', message: 'a message says something or brings a file' });
      if (!(await this.#parts.rates.allows(this.#visitor.tenant)))
        throw new AppError({ code: 'rate_limited', retryable: true, retryAfterMs: RATE_WAIT_MS, message: 'too fast' });
      if (!this.#rooms.has(this.#laneOf(room).laneId)) await this.#join(room, null);
      const acceptance = await this.#accept(room, frame);
      const ids = { eventId: formatId('evt', acceptance.eventId), runId: formatId('run', acceptance.eventId) };
      const isNew = acceptance.status === 'accepted';
      this.#link.answer({ type: 'ack', clientId, ...ids, duplicate: !isNew });
      const accepted = { ...ids, kind: acceptance.kind, clientId, position: acceptance.position };
      if (isNew) this.#link.say('event.accepted', accepted, subjectOf(room));
    } catch (error) {
      this.#link.answer({ type: 'nack', clientId, ...refusalOf(error) });
    }
  }

  async #accept(room: Room, frame: FrameOf<'message'>): Promise<Acceptance & { readonly kind: EventKind }> {
    const { acceptMessage, typedCommands, clock, metrics } = this.#parts;
    const { tenant, agent, account, sub, name } = this.#visitor;
    const startedMs = clock.monotonicMs();
    const { dedupeKey, event } = parseMessageFrame(frame, { tenant: tenant.name, sub, name });
    const { attachments, text } = event;
    const refs = (frame.uploads ?? []).map(({ id }) => id);
    const files = await filesOf(this.#visitor, refs, this.#parts);
    const message: InboundMessage = {
      ...{ tenant, agent, account, kind: 'message', traceparent: null, onQuota: 'answer' },
      target: { source: room.source, sessionKey: room.sessionKey },
      content: { text, platformMessageId: frame.clientId, ...(refs.length > 0 && { attachments: files.attachments }) },
      uses: files.uses,
      idempotency: {
        // per visitor and room: a client's name for a message means nothing to others
        scope: digestId('web chat', account?.accountId ?? agent.agentId, JSON.stringify([room.room, sub])),
        key: dedupeKey,
        bodyHash: hash('sha256', canonicalize({ text, attachments }) ?? '', 'buffer'),
      },
    };
    const command = refs.length === 0 ? commandOf(text) : null;
    const acceptance = await (command === null
      ? acceptMessage.accept(message)
      : typedCommands.give(message, command, ownWorkIn(this.#visitor, room)));
    const kind = command === null ? 'message' : 'command';
    const ms = clock.monotonicMs() - startedMs;
    metrics.answered(acceptance, { door: 'socket', kind, platform: event.platform, ms });
    return { ...acceptance, kind };
  }

  async #join(room: Room, after: StreamCursor | null | undefined): Promise<void> {
    const isJoined = await this.#rooms.join(this.#laneOf(room), subjectOf(room), after ?? null);
    if (!isJoined) this.#link.end(CLOSE_CODES.subscriptions, 'too many rooms');
  }

  /** Rooms by their keys, for clients that know nothing else. */
  async #subscription(frame: FrameOf<'subscribe' | 'unsubscribe'>): Promise<void> {
    const room = roomWith(this.#visitor, frame.sessionKey);
    if (room === null) throw new AppError({ code: 'session_not_found', message: 'no such session' });
    if (frame.type === 'subscribe') await this.#join(room, frame.after);
    else this.#rooms.leave(this.#laneOf(room).laneId);
  }

  async #stop(room: Room): Promise<void> {
    const { control, signals, announceControl, ids } = this.#parts;
    const lane = this.#laneOf(room);
    const newSessionId = ids.next() as SessionId;
    const asked = { lane, command: 'stop', sessionId: null, newSessionId, dedupe: null } as const;
    const result = await control.control({ ...asked, ...ownWorkIn(this.#visitor, room) });
    if (result.result !== 'done')
      throw new AppError({ code: 'nothing_to_stop', message: 'nothing that you may stop runs or waits here' });
    if (result.turnId !== null) signals.stopTurn(lane.tenantId, result.turnId);
    announceControl({ ...result, lane, sessionKey: room.sessionKey });
  }

  /** A question of a room that is not its own is no question. */
  async #answer({ inputId, text }: FrameOf<'input.answer'>): Promise<void> {
    const { tenantId } = this.#visitor.tenant;
    const id = parseId<InputId>(inputId, 'inp');
    const lane = id === null ? null : await this.#parts.inputs.laneOf(tenantId, id);
    const isOwn = roomsOf(this.#visitor).some((room) => this.#laneOf(room).laneId === lane?.laneId);
    await answerInput(tenantId, { inputId: isOwn ? id : null, text }, this.#parts);
  }

  #laneOf({ source, sessionKey }: Room): LaneRef {
    return this.#parts.acceptMessage.laneOf({ ...this.#visitor, target: { source, sessionKey } });
  }
}

/** Between two frames of one socket that say that somebody types. */
const TYPING_MS = 1_000;
/** Until a rate has room again, about. */
const RATE_WAIT_MS = 1_000;

function subjectOf({ room, sessionKey }: Room) {
  return { room, sessionKey };
}

/** Nothing was accepted, or, when the store did not answer, nobody knows: the same frame again finds out. */
function refusalOf(error: unknown): { code: string; retryable: boolean; retryAfterMs?: number } {
  if (error instanceof StoreError) {
    const isRow = error.failure === 'row';
    return { code: isRow ? 'invalid_field' : 'store_unavailable', retryable: !isRow };
  }
  if (!(error instanceof AppError)) throw error;
  const { code, retryable, retryAfterMs } = error;
  return { code, retryable, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

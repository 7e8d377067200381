import { messageParts } from '../attachments/message-parts.ts';
import type { Clock } from '../clock.ts';
import { formatId, type InputId, type LaneId, type MessageId } from '../ids.ts';
import type { Question } from '../ports/inputs.ts';
import type { ClaimedTurn, CommitRequest, ReplyBody } from '../ports/lane.ts';
import type { LiveEvent, LiveStream } from '../ports/signals.ts';

/** Text is held back until this long after the last delta, or until this much has come. The first goes out at once. */
const DELTA_MS = 30;
const DELTA_UNITS = 2048;

/** What every event of a turn says. */
type Header = Required<Pick<LiveEvent, 'sessionKey' | 'sessionId' | 'turnId' | 'runIds'>>;

/** A turn on its way to the readers. */
interface OpenTurn {
  readonly turn: ClaimedTurn;
  readonly header: Header;
  messageId: MessageId | null;
  readonly text: Piecemeal;
  /** What the model thinks, which no row keeps. */
  readonly reasoning: Piecemeal;
  /** All text that went before what is held, for readers that join. */
  sent: string;
}

/** Something that goes out piece by piece. */
interface Piecemeal {
  readonly type: 'message.delta' | 'reasoning.delta';
  /** UTF-16 units that went before what is held. */
  offset: number;
  held: string;
  lastMs: number;
}

/** What the commit stored. */
export interface CommittedTurn {
  readonly request: CommitRequest;
  readonly seq: string;
  readonly finishedAt: Date;
}

/** What the turn asked a person. */
export interface AskedQuestion {
  readonly inputId: InputId;
  readonly question: Question;
  readonly seq: string;
  readonly expiresAt: Date;
}

/** What is kept of a stopped turn. */
export interface CutWords {
  readonly messageId: MessageId;
  readonly text: string;
  readonly seq: string;
}

/**
 * Live events of turns (surface §4): hints for readers, not even written when nobody listens. Text goes out at most every
 * 30 ms or 2 kB, by one ticker for all turns, which runs only while text is held back.
 */
export class TurnStream {
  readonly #stream: LiveStream;
  readonly #clock: Clock;
  readonly #open = new Map<ClaimedTurn, OpenTurn>();
  readonly #holding = new Set<OpenTurn>();
  #ticking = false;

  constructor(stream: LiveStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  started(turn: ClaimedTurn, agentVersion: number): void {
    if (!this.#stream.isWatched(turn.lane)) return;
    const { runIds } = this.#openOf(turn).header;
    const data = { agentId: formatId('agt', turn.agentId), agentVersion, runIds, reason: turn.reason };
    this.#publish(turn, { type: 'turn.started', at: turn.startedAt.toISOString(), seq: turn.seq, data });
    this.#activity(turn, 'thinking');
  }

  text(turn: ClaimedTurn, messageId: MessageId, text: string): void {
    const open = this.#openOf(turn);
    open.messageId = messageId;
    this.#add(open, open.text, text);
  }

  /** What the model thinks before it speaks. */
  reasoning(turn: ClaimedTurn, text: string): void {
    const open = this.#openOf(turn);
    this.#add(open, open.reasoning, text);
  }

  /** A reader has joined the lane: what its running turn has said so far goes to all of the lane's readers. */
  snapshot(laneId: LaneId): void {
    for (const open of this.#open.values()) {
      if (open.turn.lane.laneId !== laneId || open.messageId === null) continue;
      const parts = [{ type: 'text', text: open.sent }];
      this.#publish(open.turn, {
        type: 'turn.snapshot',
        at: this.#now(),
        attempt: attemptOf(open.turn),
        data: { messageId: formatId('msg', open.messageId), parts },
      });
    }
  }

  /** All text that readers have or are about to have. */
  saidSoFar(turn: ClaimedTurn): string {
    const open = this.#open.get(turn);
    return open === undefined ? '' : open.sent + open.text.held;
  }

  /** Somebody stopped the turn; what it had said is kept. */
  cut(turn: ClaimedTurn, { messageId, text, seq }: CutWords): void {
    if (!this.#stream.isWatched(turn.lane)) return;
    const said = { role: 'assistant', author: 'agent', parts: messageParts(text), text, cut: true };
    const data = { messageId: formatId('msg', messageId), ...said };
    this.#publish(turn, { type: 'message.created', at: this.#now(), seq, data });
  }

  /** The turn ended with a question: what it said before is worth nothing. */
  asked(turn: ClaimedTurn, { inputId, question, seq, expiresAt }: AskedQuestion): void {
    this.dropped(turn);
    if (!this.#stream.isWatched(turn.lane)) return;
    const { kind, text: prompt, options } = question;
    const about = { kind, prompt, ...(options && { options }), expiresAt: expiresAt.toISOString() };
    const data = { inputId: formatId('inp', inputId), ...about };
    this.#publish(turn, { type: 'input.required', at: this.#now(), seq, data });
    this.#activity(turn, 'waiting');
  }

  /** The turn ended without a commit: what is held back is worth nothing. */
  dropped(turn: ClaimedTurn): void {
    const open = this.#open.get(turn);
    if (open === undefined) return;
    this.#open.delete(turn);
    this.#holding.delete(open);
  }

  /** The turn was committed: message, end and runs, in this order. */
  committed(turn: ClaimedTurn, { request, seq, finishedAt }: CommittedTurn): void {
    const open = this.#open.get(turn);
    if (open !== undefined) this.#flush(open, this.#clock.monotonicMs());
    if (this.#stream.isWatched(turn.lane)) {
      const at = finishedAt.toISOString();
      if (request.reply !== null) this.#publish(turn, { ...saidOf(request, request.reply), at, seq });
      const usage = request.usage === null ? {} : { usage: request.usage };
      this.#publish(turn, { type: 'turn.finished', at, seq, data: { status: request.status, ...usage } });
      for (const data of settledOf(turn, request)) this.#publish(turn, { type: 'run.settled', at, seq, data });
    }
    this.dropped(turn);
  }

  #activity(turn: ClaimedTurn, activity: 'thinking' | 'waiting'): void {
    this.#publish(turn, { type: 'turn.activity', at: this.#now(), attempt: attemptOf(turn), data: { activity } });
  }

  #now(): string {
    return new Date(this.#clock.nowMs()).toISOString();
  }

  #openOf(turn: ClaimedTurn): OpenTurn {
    let open = this.#open.get(turn);
    if (open === undefined) {
      const nothing = { offset: 0, held: '', lastMs: Number.NEGATIVE_INFINITY };
      open = {
        turn,
        header: headerOf(turn),
        messageId: null,
        text: { type: 'message.delta', ...nothing },
        reasoning: { type: 'reasoning.delta', ...nothing },
        sent: '',
      };
      this.#open.set(turn, open);
    }
    return open;
  }

  /** What came before it and is still held, of the other kind, goes first. */
  #add(open: OpenTurn, piece: Piecemeal, text: string): void {
    if (text === '') return;
    const nowMs = this.#clock.monotonicMs();
    const other = piece === open.text ? open.reasoning : open.text;
    if (other.held !== '') this.#say(open, other, nowMs);
    piece.held += text;
    if (piece.held.length >= DELTA_UNITS || nowMs - piece.lastMs >= DELTA_MS) this.#flush(open, nowMs);
    else this.#holdBack(open);
  }

  #flush(open: OpenTurn, nowMs: number): void {
    this.#holding.delete(open);
    for (const piece of [open.reasoning, open.text]) this.#say(open, piece, nowMs);
  }

  #say(open: OpenTurn, piece: Piecemeal, nowMs: number): void {
    const { type, held: text, offset } = piece;
    if (text === '') return;
    if (this.#stream.isWatched(open.turn.lane)) {
      const messageId = open.messageId === null ? {} : { messageId: formatId('msg', open.messageId) };
      const data = { ...messageId, part: 0, offset, text };
      this.#publish(open.turn, { type, at: this.#now(), attempt: attemptOf(open.turn), data });
    }
    piece.offset += text.length;
    piece.held = '';
    piece.lastMs = nowMs;
    if (piece === open.text) open.sent += text;
  }

  #holdBack(open: OpenTurn): void {
    this.#holding.add(open);
    if (this.#ticking) return;
    this.#ticking = true;
    void this.#tick();
  }

  async #tick(): Promise<void> {
    while (this.#holding.size > 0) {
      await this.#clock.sleep(DELTA_MS);
      const nowMs = this.#clock.monotonicMs();
      for (const open of this.#holding) this.#flush(open, nowMs);
    }
    this.#ticking = false;
  }

  #publish(turn: ClaimedTurn, event: Omit<LiveEvent, keyof Header>): void {
    this.#stream.publish(turn.lane, { ...event, ...this.#openOf(turn).header });
  }
}

/** Which attempt at its first event a turn is, from 1. */
function attemptOf(turn: ClaimedTurn): number {
  return (turn.events[0]?.attempts ?? 0) + 1;
}

function headerOf(turn: ClaimedTurn): Header {
  return {
    sessionKey: turn.sessionKey,
    sessionId: formatId('ses', turn.sessionId),
    turnId: formatId('trn', turn.fence.turnId),
    runIds: turn.events.map(({ eventId }) => formatId('run', eventId)),
  };
}

function saidOf(
  { messageId }: CommitRequest,
  { code, text, attachments }: ReplyBody,
): Pick<LiveEvent, 'type' | 'data'> {
  if (code !== undefined) return { type: 'notice.created', data: { code, text } };
  const said = { role: 'assistant', author: 'agent', parts: messageParts(text, attachments), text };
  return { type: 'message.created', data: { messageId: formatId('msg', messageId), ...said } };
}

function settledOf(turn: ClaimedTurn, request: CommitRequest): LiveEvent['data'][] {
  const error = request.error === null ? {} : { error: { code: request.error.code } };
  return turn.events.map(({ eventId }) => ({
    runId: formatId('run', eventId),
    eventId: formatId('evt', eventId),
    status: request.status,
    ...error,
  }));
}

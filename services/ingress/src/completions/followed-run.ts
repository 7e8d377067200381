import type { DurableEvent, HttpErrorCode, LiveEvent, RunStatus } from '@turnkeeper/core';
import { RunStatusSchema } from '@turnkeeper/protocol';
import { z } from 'zod';
import type { RunReader } from '../runs/run-streams.ts';
import type { StreamSink } from '../streams/session-streams.ts';
import type { Piece } from './growing-text.ts';

/** What became of a run. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly errorCode: string | null;
  /** Null: it has no reply. */
  readonly text: string | null;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  /** Of the question that it waits for. */
  readonly inputId: string | null;
}

/** Why a run is no longer followed, though it goes on. */
export type Unfollowed = 'time is over' | 'the node is going away' | 'the reader has gone' | HttpErrorCode;

export type Followed = { readonly end: RunEnd } | { readonly unfollowed: Unfollowed };

export interface FollowedRunOptions {
  /** As callers know it. */
  readonly runId: string;
  /** Called for each piece of text, as it comes. */
  readonly onPiece: (piece: Piece) => void;
  /** Called now and then while nothing happens. */
  readonly onBeat: () => void;
  /** A question was asked, perhaps long ago: whether the run still waits for it. */
  readonly isWaiting: () => Promise<boolean>;
}

const MessageSchema = z.looseObject({ role: z.string(), text: z.string() });
const DeltaSchema = z.looseObject({ part: z.number(), offset: z.number(), text: z.string() });
const SettledSchema = z.looseObject({
  runId: z.string(),
  status: RunStatusSchema,
  error: z.looseObject({ code: z.string() }).optional(),
});
const FinishedSchema = z.looseObject({
  usage: z.looseObject({ inputTokens: z.number().optional(), outputTokens: z.number().optional() }).optional(),
});
const WaitingSchema = z.looseObject({ runId: z.string(), inputId: z.string() });

/** One run on its way to one answer, from the stream of its lane: how it ends, or that it asks a person. */
export class FollowedRun implements RunReader {
  readonly #options: FollowedRunOptions;
  readonly #over = Promise.withResolvers<Followed>();
  readonly #onEnd = new Set<() => void>();
  #isOpen = true;
  #text: string | null = null;
  #usage: RunEnd['usage'] = { inputTokens: 0, outputTokens: 0 };
  #settled: { readonly status: RunStatus; readonly errorCode: string | null } | null = null;

  constructor(options: FollowedRunOptions) {
    this.#options = options;
  }

  /** Resolves once. */
  get over(): Promise<Followed> {
    return this.#over.promise;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  onEnd(handler: () => void): void {
    if (this.#isOpen) this.#onEnd.add(handler);
    else handler();
  }

  comment(): void {
    if (this.#isOpen) this.#options.onBeat();
  }

  readonly close: RunReader['close'] = (...[reason, , , fault = 'key_revoked']) => {
    const isOver = reason === 'drain' ? 'the node is going away' : 'time is over';
    this.leave(reason === 'revoked' ? fault : isOver);
  };

  /** The run goes on, and its end is for somebody else. */
  leave(unfollowed: Unfollowed): void {
    this.#finish({ unfollowed });
  }

  end(): void {
    const { status, errorCode } = this.#settled ?? { status: 'error' as const, errorCode: null };
    this.#finish({ end: { status, errorCode, text: this.#text, usage: this.#usage, inputId: null } });
  }

  readonly sink: StreamSink = {
    durable: (event) => this.#tell(event),
    ephemeral: (event) => this.#tell(event),
    say: () => undefined,
    drained: () => Promise.resolve(),
  };

  #tell(event: LiveEvent | DurableEvent): void {
    const { type, data } = event;
    if (type === 'message.delta') this.#piece(event);
    else if (type === 'message.created') this.#message(data);
    else if (type === 'run.settled') this.#settle(data);
    else if (type === 'turn.finished') this.#turn(data);
    else if (type === 'run.waiting') this.#wait(data);
  }

  #piece({ turnId, attempt, data }: Pick<LiveEvent, 'turnId' | 'attempt' | 'data'>): void {
    const delta = DeltaSchema.safeParse(data);
    if (delta.success && this.#isOpen) this.#options.onPiece({ attempt: `${turnId}/${attempt}`, ...delta.data });
  }

  #message(data: unknown): void {
    const message = MessageSchema.safeParse(data);
    if (message.success && message.data.role === 'assistant') this.#text = message.data.text;
  }

  #settle(data: unknown): void {
    const settled = SettledSchema.safeParse(data);
    if (!settled.success || settled.data.runId !== this.#options.runId) return;
    this.#settled = { status: settled.data.status, errorCode: settled.data.error?.code ?? null };
  }

  #turn(data: unknown): void {
    const { inputTokens = 0, outputTokens = 0 } = FinishedSchema.safeParse(data).data?.usage ?? {};
    this.#usage = { inputTokens, outputTokens };
  }

  #wait(data: unknown): void {
    const waiting = WaitingSchema.safeParse(data);
    if (!waiting.success || waiting.data.runId !== this.#options.runId) return;
    const { inputId } = waiting.data;
    const end: RunEnd = { status: 'waiting', errorCode: null, text: null, usage: this.#usage, inputId };
    this.#options.isWaiting().then(
      (isWaiting) => isWaiting && this.#finish({ end }),
      () => this.leave('store_unavailable'),
    );
  }

  #finish(followed: Followed): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#over.resolve(followed);
    for (const handler of this.#onEnd) handler();
    this.#onEnd.clear();
  }
}

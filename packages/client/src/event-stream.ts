import { backoffMs, isPassing } from './backoff.ts';
import { Cursor } from './cursor.ts';
import { ApiError, BadAnswerError, ConnectionError } from './errors.ts';
import { Patience } from './patience.ts';
import { SseParser } from './sse.ts';
import type { StreamEvent } from './stream-events.ts';
import { type Call, type CallOptions, parse, type Transport } from './transport.ts';

export interface StreamOptions extends CallOptions {
  /** How long to go on trying while no node serves the stream, milliseconds. Default 300,000. */
  readonly giveUpAfterMs?: number | undefined;
}

/** What is streamed. */
export interface Source {
  readonly call: Call;
  /** Begins behind it; none: from now on. */
  readonly after?: string | number | undefined;
  /** Cursors say nothing of their order, and what came shortly before one may come again behind it: the tenant's stream. */
  readonly isOpaque?: boolean;
  /** Whether what is streamed has ended: the node then says what belongs to its end, and ends its answer. */
  readonly isOver?: (event: StreamEvent) => boolean;
}

const GIVE_UP_MS_DEFAULT = 300_000;
/** Three of the comments that a node sends every 15 s. */
const SILENCE_MS_MAX = 45_000;
/** Of a run; of a tenant, in the seconds that may come again. */
const SEEN_MAX = 256;
const SEEN_OF_TENANT_MAX = 16_384;

/**
 * A stream of events over as many connections as it takes.
 *
 * ```
 *  connect (Last-Event-ID: cursor) ─► events ─► cut off, silent for 45 s, stream.closing ─► pause ─► next node: connect
 * ```
 * Durable events move the cursor, and come once: those at or before it are dropped. So is what a run's stream, which has
 * no cursor, says again after a cut. Deltas may be lost at a cut and are not dropped: `LiveText` makes of them what is
 * right. `stream.open` tells of every new connection.
 * @throws ApiError for refusals that stay, ConnectionError after `giveUpAfterMs`, DeadlineError, or the signal's reason
 */
export async function* follow(
  transport: Transport,
  source: Source,
  { signal, timeoutMs, giveUpAfterMs = GIVE_UP_MS_DEFAULT }: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const patience = new Patience({ signal, timeoutMs });
  const told = new Told(source);
  let isOver = false;
  let failures = 0;
  let servedMs = Date.now();
  try {
    for (;;) {
      let pauseMs: number | undefined;
      try {
        const call = { ...source.call, headers: told.headers };
        for await (const received of connection(transport, call, patience.signal)) {
          failures = 0;
          servedMs = Date.now();
          if (typeof received === 'string') {
            told.standAt(received);
            continue;
          }
          const event = received;
          if (event.type === 'stream.closing') pauseMs = event.data.reconnectAfterMs;
          isOver ||= source.isOver?.(event) === true;
          if (told.isNew(event)) yield event;
        }
        if (isOver && pauseMs === undefined) return;
      } catch (error) {
        if (!isPassing(error) || Date.now() - servedMs > giveUpAfterMs) throw error;
        pauseMs = error instanceof ApiError ? backoffMs(1, error.retryAfterMs) : undefined;
      }
      transport.next();
      await patience.pause(pauseMs ?? backoffMs(++failures));
    }
  } finally {
    patience.end();
  }
}

/** The events of one connection, and where it says that its reader stands, until it ends or falls silent. */
async function* connection(
  transport: Transport,
  call: Call,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent | string> {
  const overdue = () => new ConnectionError('the stream has fallen silent');
  const patience = new Patience({ signal, timeoutMs: SILENCE_MS_MAX, overdue });
  try {
    const answer = await transport.open(call, patience.signal);
    if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true)
      throw new BadAnswerError(answer.status);
    const parser = new SseParser();
    for await (const piece of pieces(answer, patience.signal)) {
      patience.renew();
      for (const { id, data } of parser.push(piece)) {
        if (data === undefined) yield id ?? '';
        else yield { ...(parse(data, answer.status) as StreamEvent), ...(id === undefined ? {} : { cursor: id }) };
      }
    }
  } finally {
    patience.end();
  }
}

/** (A stream is not async iterable in every browser.) */
async function* pieces({ body }: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      if (signal.aborted) throw signal.reason;
      throw new ConnectionError('the stream was cut off', { cause });
    });
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/** What the reader has been told, over all connections. */
class Told {
  readonly #cursor: Cursor;
  /** Streams of runs have no cursor, and that of a tenant repeats: what was durable is known by what it says. */
  readonly #seen = new Set<string>();
  readonly #seenMax: number;
  readonly #isOpaque: boolean;
  #opaque: string | undefined;
  #hasCursor = true;

  constructor({ after, isOpaque = false }: Pick<Source, 'after' | 'isOpaque'>) {
    this.#isOpaque = isOpaque;
    this.#seenMax = isOpaque ? SEEN_OF_TENANT_MAX : SEEN_MAX;
    this.#cursor = new Cursor(isOpaque ? undefined : after);
    this.#opaque = isOpaque && after !== undefined ? String(after) : undefined;
  }

  get headers(): Record<string, string> {
    const text = this.#isOpaque ? this.#opaque : this.#hasCursor ? this.#cursor.text : undefined;
    return { accept: 'text/event-stream', ...(text === undefined ? {} : { 'last-event-id': text }) };
  }

  /** It is told of no event, and goes on from here all the same. */
  standAt(cursor: string | undefined): void {
    if (cursor === undefined) return;
    if (this.#isOpaque) this.#opaque = cursor;
    else this.#cursor.advance(cursor);
  }

  isNew(event: StreamEvent): boolean {
    if (event.type === 'stream.open') this.#open(event.data.replayFrom);
    if (event.type === 'stream.reset') this.#cursor.reset(0);
    if (event.type === 'stream.open' || event.type === 'stream.replayed') this.standAt(event.data.cursor);
    if (this.#isOpaque) {
      if (event.cursor === undefined) return true;
      this.#opaque = event.cursor;
      return this.#isUnseen(event);
    }
    if (event.cursor === undefined) return true;
    return this.#hasCursor ? this.#cursor.advance(event.cursor) : this.#isUnseen(event);
  }

  #open(replayFrom: number | null | undefined): void {
    if (typeof replayFrom !== 'number') this.#hasCursor = false;
    else if (this.#cursor.text === undefined) this.#cursor.reset(replayFrom);
  }

  #isUnseen({ type, seq, sessionKey, sessionId, turnId, runIds, data }: StreamEvent): boolean {
    const { messageId, runId, inputId } = data as Readonly<Record<string, unknown>>;
    const mark = JSON.stringify([type, seq, sessionKey, sessionId, turnId, runIds, messageId, runId, inputId]);
    if (this.#seen.has(mark)) return false;
    this.#seen.add(mark);
    const [oldest] = this.#seen.size > this.#seenMax ? this.#seen : [];
    if (oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }
}

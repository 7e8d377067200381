import { earlyAnswerMs } from '../backoff.ts';
import { DeadlineError } from '../errors.ts';
import { follow, type StreamOptions } from '../event-stream.ts';
import { type Listing, listing } from '../listing.ts';
import type { AnswerOf, QueryOf } from '../operations.ts';
import { Patience } from '../patience.ts';
import type { StreamEvent } from '../stream-events.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Run = AnswerOf<'getRun'>;
export type Timeline = AnswerOf<'getTimeline'>;

const WAIT_MS_DEFAULT = 600_000;
/** What a node waits at most; it answers as soon as a run has ended, or asks. */
const WAIT_SECONDS_MAX = 55;

/** `/v1/runs`: what became of messages. */
export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query?: QueryOf<'listRuns'>, options?: CallOptions): Listing<Run> {
    return listing(this.#transport, { path: '/v1/runs', query }, options);
  }

  get(runId: string, options?: CallOptions): Promise<Run> {
    return this.#transport.json({ method: 'GET', path: pathOf(runId) }, options);
  }

  /**
   * Waits until a run has ended, or waits for a person (`status: "waiting"`), at most `timeoutMs` (default 600,000).
   * @throws DeadlineError when it has not by then; the run goes on
   */
  async wait(runId: string, { signal, timeoutMs = WAIT_MS_DEFAULT }: CallOptions = {}): Promise<Run> {
    const patience = new Patience({ signal, timeoutMs });
    const endsMs = Date.now() + timeoutMs;
    try {
      for (let early = 0; ; ) {
        const askedMs = Date.now();
        const leftMs = endsMs - askedMs;
        if (leftMs <= 0) throw new DeadlineError(timeoutMs);
        const wait = Math.min(WAIT_SECONDS_MAX, Math.ceil(leftMs / 1000));
        const call = { method: 'GET', path: pathOf(runId), query: { wait }, waitMs: wait * 1000 } as const;
        const run = await this.#transport.json<Run>(call, { signal, timeoutMs: leftMs });
        if (run.status !== 'queued' && run.status !== 'running') return run;
        early = Date.now() - askedMs < wait * 500 ? early + 1 : 0;
        if (early === 0) continue;
        // a node that is about to leave does not wait
        this.#transport.next();
        await patience.pause(Math.min(earlyAnswerMs(early), endsMs - Date.now()));
      }
    } finally {
      patience.end();
    }
  }

  /** Ends a run that has not ended. Never repeated: after a ConnectionError ask for the run. */
  cancel(runId: string, options?: CallOptions): Promise<Run> {
    return this.#transport.json({ method: 'POST', path: pathOf(runId, '/cancel') }, options);
  }

  /** The events of a run from now on, until it has ended. */
  stream(runId: string, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const call = { method: 'GET', path: pathOf(runId, '/events') } as const;
    return follow(this.#transport, { call, isOver: isSettled }, options);
  }

  /** What happened to a message, step by step. Takes a `run_…` or `evt_…`. */
  timeline(id: string, options?: CallOptions): Promise<Timeline> {
    return this.#transport.json({ method: 'GET', path: `/v1/events/${encodeURIComponent(id)}/timeline` }, options);
  }
}

/** Only what belongs to the same transaction comes after it in the stream of a run. */
export function isSettled({ type }: StreamEvent): boolean {
  return type === 'run.settled';
}

function pathOf(runId: string, rest = ''): string {
  return `/v1/runs/${encodeURIComponent(runId)}${rest}`;
}

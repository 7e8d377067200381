import { type DurableEvent, formatId, type LiveEvent, type RunInStream, type RunRecord } from '@turnkeeper/core';
import type { StreamSink } from '../streams/session-streams.ts';
import type { StreamCursor } from '../streams/stream-filter.ts';

export interface RunSinkOptions {
  readonly run: RunRecord;
  /** Where its rows say it stands. */
  readonly place: RunInStream;
  /** Where the reader goes on; null: from the run's beginning. */
  readonly cursor: StreamCursor | null;
  /** Gets what concerns the run. */
  readonly target: StreamSink;
  /** Everything has been told. */
  readonly end: () => void;
  readonly now: () => string;
}

/**
 * The stream of one run, out of the stream of its lane: what concerns the run, to the end of the transaction that ended it.
 * Turns tell which runs are theirs; a question that is asked or resolved while a lane is in the run's hands is the run's.
 */
export class RunSink implements StreamSink {
  readonly #options: RunSinkOptions;
  readonly #runId: string;
  readonly #turnIds = new Set<string>();
  #endSeq: number | null;
  #isSettledTold = false;

  constructor(options: RunSinkOptions) {
    const { run, place } = options;
    this.#options = options;
    this.#runId = formatId('run', run.runId);
    this.#endSeq = place.ended;
    if (place.turnId !== null) this.#turnIds.add(formatId('trn', place.turnId));
  }

  durable(event: DurableEvent, cursor: StreamCursor): void {
    const { target, end } = this.#options;
    if (this.#concerns(event)) {
      target.durable(event, cursor);
      if (event.type === 'run.settled') {
        this.#isSettledTold = true;
        this.#endSeq = event.seq;
      }
    }
    if (this.#endSeq !== null && event.seq >= this.#endSeq && cursor.told === 0) end();
  }

  ephemeral(event: LiveEvent): void {
    // its acceptance is told by who accepted it
    if (event.type !== 'event.accepted' && this.#concerns(event)) this.#options.target.ephemeral(event);
  }

  readonly say: StreamSink['say'] = (type, data) => {
    const { target, place, end } = this.#options;
    if (!('pending' in data)) return target.say(type, data);
    target.say('stream.replayed', { ...data, pending: data.pending.filter(({ runId }) => runId === this.#runId) });
    if (!place.isFinal) return;
    this.#tellRefusal();
    end();
  };

  drained(): Promise<void> {
    return this.#options.target.drained();
  }

  /** A run that was refused when it came has no seq, so that only its own row tells of it. */
  #tellRefusal(): void {
    const { run, place, target, now } = this.#options;
    if (place.ended !== null || this.#isSettledTold) return;
    target.ephemeral({
      type: 'run.settled',
      at: run.finishedAt?.toISOString() ?? now(),
      sessionKey: run.sessionKey,
      runIds: [this.#runId],
      data: {
        runId: this.#runId,
        eventId: formatId('evt', run.runId),
        status: run.status,
        ...(run.errorCode === null ? {} : { error: { code: run.errorCode } }),
      },
    });
  }

  #concerns({ type, runIds, turnId }: Pick<LiveEvent, 'type' | 'runIds' | 'turnId'>): boolean {
    if (runIds?.includes(this.#runId)) {
      if (turnId !== undefined) this.#turnIds.add(turnId);
      return true;
    }
    if (turnId !== undefined) return this.#turnIds.has(turnId);
    return type.startsWith('input.') && this.#turnIds.size > 0;
  }
}

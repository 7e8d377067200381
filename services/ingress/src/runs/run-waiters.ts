import {
  AppError,
  type Clock,
  type EventId,
  isFinal,
  type LiveStream,
  type Logger,
  Places,
  type RunReads,
  type RunRecord,
  type TenantId,
} from '@turnkeeper/core';

export interface RunWaitersOptions {
  readonly runs: Pick<RunReads, 'byIds'>;
  readonly live: Pick<LiveStream, 'subscribe' | 'connected'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs waited for at once; above it, or above three quarters of it for one tenant, a caller is refused. */
  readonly waitersMax: number;
}

/** A place among those who may wait, held until it is released. */
interface WaiterPlace {
  /** As `RunWaiters.wait`, but for `too_many_waiters`. */
  wait(run: RunRecord, ms: number, signal: AbortSignal): Promise<RunRecord>;
  release(): void;
}

/** One caller that waits for a run. */
interface Waiter {
  /** Of the question that its caller knew of; null: none was open. */
  readonly knows: RunRecord['inputId'] | null;
  readonly resolve: (run: RunRecord) => void;
  readonly reject: (error: unknown) => void;
}

interface Awaited {
  /** What its row said last. */
  run: RunRecord;
  readonly waiters: Set<Waiter>;
  /** Waiters that are answered by the next reading, whatever it says: their time is over. */
  readonly overdue: Set<Waiter>;
  readonly unsubscribe: () => void;
  /** Its row is read then, and the pause after that is twice as long. */
  dueMs: number;
  pauseMs: number;
}

/** Runs that somebody has just begun to wait for are read often: a short turn may end before its worker knows of a listener. */
const PAUSE_MS_FIRST = 50;
/** Readings fall on common steps, so that there are at most so many a second, however many wait. */
const STEP_MS = 50;
const PAUSE_MS_WITH_SIGNALS = 1_000;
const PAUSE_MS_ALONE = 500;
/**
 * Longest wait for a run that waits for a person already: long enough that who asks again and again does no harm, short
 * enough that the question is seen.
 */
const ASKED_MS_MAX = 1_000;
/** Live events after which a waiter may have its answer. */
const ENDS_WAIT: ReadonlySet<string> = new Set(['run.settled', 'run.waiting', 'input.required']);
/** A signal reads again after this long, together with the signals that came meanwhile. */
const NUDGE_MS = 3;
const READ_RUNS_MAX = 500;

/**
 * Everybody on this node who waits for runs shares one poll of their rows: runs that are due at the same moment are read
 * by one statement, each soon at first and then once a second. A live event that says a run has ended makes its row be
 * read at once; the row alone decides, so a lost or false event changes nothing. Nothing is polled while nobody waits.
 */
export class RunWaiters {
  readonly #options: RunWaitersOptions;
  readonly #awaited = new Map<EventId, Awaited>();
  /** Runs to be read before they are due. */
  #hot = new Set<EventId>();
  /** The first moment at which a run may be due. */
  #nextDueMs = Number.POSITIVE_INFINITY;
  #wake = new AbortController();
  readonly #places: Places;
  #isPolling = false;
  #isDraining = false;

  constructor(options: RunWaitersOptions) {
    this.#options = options;
    this.#places = new Places(options.waitersMax);
  }

  /**
   * Resolves with the run once it is final or asks a person, at the latest after `ms`, when this node drains, or when
   * `signal` aborts, with what its row says then. A run that waits for a person from the start is answered within a second,
   * so that the caller sees the question.
   * @throws AppError `too_many_waiters`; StoreError when the store is away when the time is over
   */
  async wait(run: RunRecord, ms: number, signal: AbortSignal): Promise<RunRecord> {
    if (this.#isOver(run, ms, signal)) return run;
    const place = this.#reserve(run.tenantId);
    try {
      return await place.wait(run, ms, signal);
    } finally {
      place.release();
    }
  }

  /** For who must not be refused any more once it begins to wait. @throws AppError `too_many_waiters` */
  #reserve(tenantId: TenantId): WaiterPlace {
    if (!this.#places.take(tenantId)) throw tooMany();
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#places.give(tenantId);
      isHeld = false;
    };
    return { wait: (run, ms, signal) => this.#wait(run, ms, signal), release };
  }

  async #wait(run: RunRecord, ms: number, signal: AbortSignal): Promise<RunRecord> {
    if (this.#isOver(run, ms, signal)) return run;
    const timer = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<RunRecord>();
    const waiter: Waiter = { knows: questionOf(run), resolve, reject };
    const awaited = this.#join(run, waiter);
    const waitMs = waiter.knows === null ? ms : Math.min(ms, ASKED_MS_MAX);
    void this.#options.clock.sleep(waitMs, timer.signal).then(() => this.#expire(awaited, waiter));
    const leave = () => resolve(awaited.run);
    signal.addEventListener('abort', leave);
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
      this.#leave(awaited, waiter);
      timer.abort();
    }
  }

  /** Answers all waiters now, and later ones at once. */
  drain(): void {
    this.#isDraining = true;
    for (const awaited of this.#awaited.values()) {
      for (const waiter of awaited.waiters) waiter.resolve(awaited.run);
    }
  }

  #isOver(run: RunRecord, ms: number, signal: AbortSignal): boolean {
    return isFinal(run.status) || ms <= 0 || this.#isDraining || signal.aborted;
  }

  #join(run: RunRecord, waiter: Waiter): Awaited {
    const known = this.#awaited.get(run.runId);
    if (known !== undefined) {
      known.waiters.add(waiter);
      return known;
    }
    const unsubscribe = this.#options.live.subscribe(run.lane, (event) => {
      if (ENDS_WAIT.has(event.type)) this.#nudge(run.runId);
    });
    const dueMs = stepAfter(this.#options.clock.monotonicMs() + PAUSE_MS_FIRST);
    const waiting = { waiters: new Set([waiter]), overdue: new Set<Waiter>() };
    const awaited: Awaited = { run, ...waiting, unsubscribe, dueMs, pauseMs: PAUSE_MS_FIRST };
    this.#awaited.set(run.runId, awaited);
    this.#nextDueMs = Math.min(this.#nextDueMs, dueMs);
    // it may have ended between its row being read and the subscription
    this.#nudge(run.runId);
    if (!this.#isPolling) void this.#poll();
    return awaited;
  }

  #leave(awaited: Awaited, waiter: Waiter): void {
    awaited.waiters.delete(waiter);
    awaited.overdue.delete(waiter);
    if (awaited.waiters.size > 0) return;
    awaited.unsubscribe();
    this.#awaited.delete(awaited.run.runId);
    if (this.#awaited.size === 0) this.#wake.abort();
  }

  #expire(awaited: Awaited, waiter: Waiter): void {
    if (!awaited.waiters.has(waiter)) return;
    awaited.overdue.add(waiter);
    this.#nudge(awaited.run.runId);
  }

  #nudge(runId: EventId): void {
    this.#hot.add(runId);
    this.#wake.abort();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#awaited.size > 0) {
      await this.#untilDue();
      const ids = [...this.#takeDue()];
      for (let at = 0; at < ids.length; at += READ_RUNS_MAX) {
        await this.#read(ids.slice(at, at + READ_RUNS_MAX)).catch((error: unknown) => {
          this.#options.logger.failed(error, { runs: ids.length }, 'waiters could not be answered');
        });
      }
    }
    this.#isPolling = false;
  }

  async #untilDue(): Promise<void> {
    const { clock } = this.#options;
    const restMs = this.#nextDueMs - clock.monotonicMs();
    if (this.#hot.size === 0 && restMs > 0) {
      await clock.sleep(restMs, this.#wake.signal);
      if (this.#hot.size > 0) await clock.sleep(NUDGE_MS);
    }
    this.#wake = new AbortController();
  }

  /** Runs to be read now: those that a signal named, and those whose time has come. */
  #takeDue(): Set<EventId> {
    const due = this.#hot;
    this.#hot = new Set();
    const { clock, live } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextDueMs) return due;
    const pauseMsMax = live.connected ? PAUSE_MS_WITH_SIGNALS : PAUSE_MS_ALONE;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (const [runId, awaited] of this.#awaited) {
      if (awaited.dueMs <= nowMs) {
        due.add(runId);
        awaited.pauseMs = Math.min(awaited.pauseMs * 2, pauseMsMax);
        awaited.dueMs = stepAfter(nowMs + awaited.pauseMs);
      }
      this.#nextDueMs = Math.min(this.#nextDueMs, awaited.dueMs);
    }
    return due;
  }

  async #read(runIds: readonly EventId[]): Promise<void> {
    const asked = runIds.flatMap((runId) => this.#awaited.get(runId) ?? []);
    if (asked.length === 0) return;
    try {
      const runs = await this.#options.runs.byIds(
        asked.map(({ run }) => ({ tenantId: run.tenantId, runId: run.runId })),
      );
      for (const [i, awaited] of asked.entries()) answer(awaited, runs[i] ?? awaited.run);
    } catch (error) {
      for (const { overdue } of asked) for (const waiter of overdue) waiter.reject(error);
      throw error;
    }
  }
}

function stepAfter(ms: number): number {
  return Math.ceil(ms / STEP_MS) * STEP_MS;
}

function answer(awaited: Awaited, run: RunRecord): void {
  awaited.run = run;
  const question = questionOf(run);
  for (const waiter of awaited.waiters) {
    const isNews = isFinal(run.status) || (question !== null && question !== waiter.knows);
    if (isNews || awaited.overdue.has(waiter)) waiter.resolve(run);
  }
}

function questionOf({ status, inputId }: RunRecord): Waiter['knows'] {
  return status === 'waiting' ? (inputId ?? null) : null;
}

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_waiters',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too many calls wait on this node; ask without wait, or try again',
  });
}

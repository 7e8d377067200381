import { DeadlineError } from './errors.ts';

/** The longest that a timer of JavaScript waits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface PatienceOptions {
  /** The caller's. When it aborts, its reason is what is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from now on; none: until the signal aborts. */
  readonly timeoutMs?: number | undefined;
  /** What is thrown when the time is over; a `DeadlineError` when left out. */
  readonly overdue?: () => Error;
}

/** How long something may take: a deadline and the caller's signal in one. Whoever makes it ends it. */
export class Patience {
  readonly #stop = new AbortController();
  readonly #options: PatienceOptions;
  readonly #forward = (): void => this.#stop.abort(this.#options.signal?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #endsMs = Number.POSITIVE_INFINITY;

  constructor(options: PatienceOptions) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.#forward();
    else signal?.addEventListener('abort', this.#forward, { once: true });
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Begins the time anew. */
  renew(): void {
    const { timeoutMs, overdue } = this.#options;
    if (timeoutMs === undefined || timeoutMs > TIMER_MS_MAX) return;
    clearTimeout(this.#timer);
    this.#endsMs = Date.now() + timeoutMs;
    this.#timer = setTimeout(() => this.#stop.abort(overdue?.() ?? new DeadlineError(timeoutMs)), timeoutMs);
  }

  /** Whether so much time is left. */
  has(ms: number): boolean {
    return Date.now() + ms < this.#endsMs;
  }

  /** Waits. @throws the signal's reason when it aborts meanwhile */
  pause(ms: number): Promise<void> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const stopped = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stopped);
        resolve();
      }, ms);
      if (signal.aborted) stopped();
      else signal.addEventListener('abort', stopped, { once: true });
    });
  }

  /** Nothing is waited for any more: what still goes on with the signal is stopped. */
  end(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#forward);
    this.#stop.abort();
  }
}

import { AppError, type Clock, type Repeated } from '@turnkeeper/core';

/** A part of a process that could stop working while the process lives. */
export interface Vital {
  /** For people. */
  readonly name: string;
  /** Null while all is well, else what is wrong in a few words. Asked once a second, so it must be cheap. */
  readonly trouble: () => string | null;
}

/** What something has done so far, and whether it has anything to do. */
export interface Progress {
  readonly isDue: boolean;
  /** Only grows: steps that were answered, rightly or not. */
  readonly steps: number;
}

/** The process lives and does not work: it must end, to be started again. */
export class StuckError extends AppError {
  override readonly name = 'StuckError';

  constructor(vital: string, trouble: string, seconds: number) {
    super({
      code: 'internal',
      message: `${vital}: ${trouble} for ${seconds} s; this process ends, to be started again`,
    });
  }
}

/** Exit code of a process that took itself out because it made no progress; other failures end with 1. */
export const EXIT_STUCK = 70;

const LOOK_MS = 1_000;

interface Watched {
  readonly vital: Vital;
  /** Looks in a row that found trouble. */
  looks: number;
  trouble: string;
}

/**
 * Whether this process still does what it is there for. A store that is away is no trouble: all parts are made to wait for
 * it, and starting them again would not bring it back. Trouble is a client that will never connect again, or work that is
 * there and does not move.
 *
 *   well ──(trouble at every look for half of the limit)──► not ready ──(for all of it)──► stuck: the process ends
 *     ▲────────────────(one look without)───────────────────────┘
 *
 * Looks are counted, not time, so that a process that was stopped or starved is not blamed for it.
 */
export class Vitals {
  readonly #clock: Clock;
  readonly #looksMax: number;
  readonly #watched: Watched[] = [];

  /** `limitMs`: 0 = trouble never ends the process, and never makes it unready. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#looksMax = limitMs === 0 ? Number.POSITIVE_INFINITY : Math.ceil(limitMs / LOOK_MS);
  }

  watch(vital: Vital): void {
    this.#watched.push({ vital, looks: 0, trouble: '' });
  }

  /** Clients by the names that people know them by; trouble = one has given up for good though nobody closed it. */
  watchLinks(links: Readonly<Record<string, { readonly isOver: boolean }>>): void {
    for (const [name, link] of Object.entries(links)) {
      this.watch({ name, trouble: () => (link.isOver ? 'closed for good' : null) });
    }
  }

  /** Trouble = something is due and no step was taken since the last look. */
  watchProgress(name: string, progress: () => Progress): void {
    let last = -1;
    this.watch({
      name,
      trouble: () => {
        const { isDue, steps } = progress();
        const hasMoved = steps !== last;
        last = steps;
        return isDue && !hasMoved ? 'nothing moves' : null;
      },
    });
  }

  /** The same loop, and it must come round. Each of its runs must be bounded in time, whatever the stores do. */
  watchLoop(loop: Repeated): Repeated {
    let steps = 0;
    this.watchProgress(loop.name, () => ({ isDue: true, steps }));
    return {
      ...loop,
      work: async () => {
        try {
          await loop.work();
        } finally {
          steps++;
        }
      },
    };
  }

  /** The name of what has been in trouble for half of the limit, while it lasts. */
  get troubled(): string | null {
    return this.#watched.find(({ looks }) => looks >= this.#looksMax / 2)?.vital.name ?? null;
  }

  /** Looks once a second until the signal aborts; calls back, once, when something is stuck. */
  async run(signal: AbortSignal, onStuck: (error: StuckError) => void): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_MS, signal);
      if (signal.aborted) return;
      const stuck = this.#look();
      if (stuck !== undefined) {
        const seconds = Math.round((stuck.looks * LOOK_MS) / 1000);
        return onStuck(new StuckError(stuck.vital.name, stuck.trouble, seconds));
      }
    }
  }

  #look(): Watched | undefined {
    for (const watched of this.#watched) {
      const trouble = watched.vital.trouble();
      watched.looks = trouble === null ? 0 : watched.looks + 1;
      watched.trouble = trouble ?? '';
    }
    return this.#watched.find(({ looks }) => looks >= this.#looksMax);
  }
}

import { type Clock, type Logger, type Tracer, traced } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import type { Sweep, SweepGroup } from './sweep.ts';

export interface RunSweepsOptions {
  readonly groups: readonly SweepGroup[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly metrics: Pick<Metrics, 'counter' | 'gauge' | 'histogram'>;
}

/** Runs all groups side by side until the term ends; resolves at once then, or when the sweeps in hand are given up. Never rejects. */
export async function runSweeps(options: RunSweepsOptions, term: AbortSignal): Promise<void> {
  options.metrics.gauge('leader').set(1);
  options.logger.info({}, 'leading');
  await Promise.all(options.groups.map((group) => runGroup(group, new SweepRuns(options), term)));
  options.metrics.gauge('leader').set(0);
  options.logger.info({}, 'no longer leading');
}

async function runGroup(group: SweepGroup, runs: SweepRuns, term: AbortSignal): Promise<void> {
  while (!term.aborted) {
    const pauseMs = await runs.clocked(group.everyMs, async () => {
      for (const sweep of group.sweeps) if (!term.aborted) await runs.run(sweep, term);
    });
    await runs.clock.sleep(pauseMs, term);
  }
  for (const sweep of group.sweeps) sweep.end?.();
}

/** Runs sweeps of one group under their deadlines, measures them, and logs a failure once until the sweep works again. */
class SweepRuns {
  readonly clock: Clock;
  readonly #options: RunSweepsOptions;
  readonly #failing = new Set<string>();
  /** Runs that were given up and have not ended yet. */
  readonly #lingering = new Set<string>();

  constructor(options: RunSweepsOptions) {
    this.clock = options.clock;
    this.#options = options;
    // there before anything was repaired
    options.metrics.counter('sweep_repairs_total');
  }

  /** Does the work; answers what is left of the time until it is due again. */
  async clocked(everyMs: number, work: () => Promise<void>): Promise<number> {
    const startedMs = this.clock.monotonicMs();
    await work();
    return Math.max(0, everyMs - (this.clock.monotonicMs() - startedMs));
  }

  async run(sweep: Sweep, term: AbortSignal): Promise<void> {
    if (this.#lingering.has(sweep.name)) return;
    const over = new AbortController();
    const late = this.clock.sleep(sweep.deadlineMs, AbortSignal.any([term, over.signal])).then(() => 'late' as const);
    const startedMs = this.clock.monotonicMs();
    try {
      const span = this.#options.tracer.start(`sweep ${sweep.name}`);
      const running = traced(span, () => sweep.run(AbortSignal.any([term, over.signal])));
      const outcome = await Promise.race([running, late]);
      if (outcome === 'late') this.#giveUp(sweep, running, term);
      else this.#succeeded(sweep, outcome);
    } catch (error) {
      this.#failed(sweep, error);
    }
    over.abort();
    const { metrics } = this.#options;
    metrics
      .histogram('sweep_duration_seconds')
      .observe((this.clock.monotonicMs() - startedMs) / 1000, { sweep: sweep.name });
  }

  #succeeded({ name }: Sweep, repairs: Readonly<Record<string, number>>): void {
    const { logger, metrics } = this.#options;
    metrics.gauge('sweep_last_success_timestamp_seconds').set(this.clock.nowMs() / 1000, { sweep: name });
    for (const [kind, count] of Object.entries(repairs)) {
      if (count > 0) metrics.counter('sweep_repairs_total').inc({ sweep: name, kind }, count);
    }
    if (this.#failing.delete(name)) logger.info({ sweep: name }, 'the sweep works again');
  }

  /** The term ended, or the deadline passed. The run is not started again before it has ended. */
  #giveUp(sweep: Sweep, running: Promise<unknown>, term: AbortSignal): void {
    const { name } = sweep;
    this.#lingering.add(name);
    void running.catch((error) => this.#failed(sweep, error)).finally(() => this.#lingering.delete(name));
    if (term.aborted || this.#failing.has(name)) return;
    this.#failing.add(name);
    this.#options.logger.warn({ sweep: name, deadlineMs: sweep.deadlineMs }, 'the sweep takes too long');
  }

  #failed({ name }: Sweep, error: unknown): void {
    if (this.#failing.has(name)) return;
    this.#failing.add(name);
    this.#options.logger.failed(error, { sweep: name }, 'the sweep failed; it is tried again');
  }
}

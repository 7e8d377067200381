import type { InvariantKind, Invariants, LaneRef, Logger, Violation } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import type { Sweep } from './sweep.ts';
import { type LaneWakerOptions, wakeLanes } from './wake-lanes.ts';

export interface OpenWorkOptions extends LaneWakerOptions {
  readonly invariants: Invariants;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly logger: Logger;
}

/** What happened longer ago was looked at several times. */
const HISTORY_MS = 5 * 60_000;
/** Open events, and owed messages, that one look goes over: a cluster that is not far behind has fewer in all. */
const ROWS_PER_LOOK = 20_000;

/**
 * Looks for open work that nothing will end, whatever made it so, and puts it right where that is certain: a lane that its
 * owner does not look at is woken, a question or a resume that is missing is made up for, a lost process is looked for again.
 * Only what two looks in a row find counts: a slow machine is behind for a moment, and what would be done helps it as little.
 * A look goes over some slots, the next one over those behind them, or over the same once more where it found anything.
 */
export function openWork(options: OpenWorkOptions): Sweep {
  const told = new Told('open', options);
  const round = new Round();
  return {
    name: 'open-work',
    deadlineMs: 30_000,
    run: async () => {
      const { fromSlot } = round;
      const look = { fromSlot, rows: ROWS_PER_LOOK, lastMs: HISTORY_MS };
      const violations = round.confirmed(await options.invariants.openWork(look));
      await told.tell(round.known());
      const repairs: Record<string, number> = {};
      const lanes = lanesOf(violations.filter(({ repairable }) => repairable));
      if (lanes.length === 0) return repairs;
      const repaired = await options.invariants.repair(lanes);
      for (const { laneId } of lanes) {
        // nothing was wrong with its rows: it lacks only somebody who looks
        for (const kind of repaired.get(laneId) ?? ['woken']) repairs[kind] = (repairs[kind] ?? 0) + 1;
      }
      await wakeLanes(options, lanes);
      options.logger.warn({ repairs: lanes.length }, 'repaired open work that nothing would have ended');
      return repairs;
    },
    end: () => {
      round.begin();
      told.end();
    },
  };
}

/** Looks whether what was written lately keeps the promises. Never repairs: what is wrong there was done, and a repair would lie. */
export function history(options: Pick<OpenWorkOptions, 'invariants' | 'metrics' | 'logger'>): Sweep {
  const told = new Told('history', options);
  return {
    name: 'history',
    deadlineMs: 90_000,
    run: async () => {
      await told.tell(await options.invariants.history(HISTORY_MS));
      return {};
    },
    end: () => told.end(),
  };
}

/** The way of the looks through all slots, again and again. */
class Round {
  /** Where the next look begins. */
  fromSlot = 0;
  /** What the last look found, if the next goes over the same slots. */
  #before: ReadonlySet<string> | null = null;
  /** What two looks found, by where they began. */
  readonly #confirmed = new Map<number, readonly Violation[]>();

  begin(): void {
    this.fromSlot = 0;
    this.#before = null;
    this.#confirmed.clear();
  }

  /** What this look found, and the one before it. */
  confirmed({ violations, nextSlot }: Awaited<ReturnType<Invariants['openWork']>>): readonly Violation[] {
    const from = this.fromSlot;
    const confirmed = violations.filter((one) => this.#before?.has(keyOf(one)));
    this.#confirmed.set(from, confirmed);
    // where all slots are one window, every look is compared with the one before
    const stays = (this.#before === null && violations.length > 0) || (from === 0 && nextSlot === 0);
    this.#before = stays ? new Set(violations.map(keyOf)) : null;
    if (!stays) this.fromSlot = nextSlot;
    // windows change with what is open: of one that was passed over nothing is known any more
    const end = nextSlot === 0 ? Number.POSITIVE_INFINITY : nextSlot;
    for (const slot of this.#confirmed.keys()) if (slot > from && slot < end) this.#confirmed.delete(slot);
    return confirmed;
  }

  /** All that is known to be broken. */
  known(): Violation[] {
    return [...this.#confirmed.values()].flat();
  }
}

/** Counts what is broken, each invariant, and logs each subject when it is seen first. */
class Told {
  readonly #kind: InvariantKind;
  readonly #invariants: Invariants;
  readonly #logger: Logger;
  readonly #broken: ReturnType<Metrics['gauge']>;
  #seen = new Set<string>();
  #names: readonly string[] = [];

  constructor(
    kind: InvariantKind,
    { invariants, logger, metrics }: Pick<OpenWorkOptions, 'invariants' | 'metrics' | 'logger'>,
  ) {
    this.#kind = kind;
    this.#invariants = invariants;
    this.#logger = logger;
    this.#broken = metrics.gauge('invariant_violations');
  }

  async tell(violations: readonly Violation[]): Promise<void> {
    this.#names = await this.#invariants.names(this.#kind);
    for (const invariant of this.#names) {
      this.#broken.set(violations.filter((one) => one.invariant === invariant).length, { invariant });
    }
    const seen = new Set<string>();
    for (const one of violations) {
      const key = keyOf(one);
      seen.add(key);
      if (this.#seen.has(key)) continue;
      const { tenantId, laneId, invariant, subject, subjectKind, repairable } = one;
      this.#logger.error(
        { tenantId, laneId, invariant, subject, subjectKind, repairable, reason: one.detail },
        'a promise is broken',
      );
    }
    this.#seen = seen;
  }

  /** Only the leader tells. */
  end(): void {
    for (const invariant of this.#names) this.#broken.set(0, { invariant });
    this.#seen = new Set();
  }
}

function keyOf({ invariant, detail, subject }: Violation): string {
  return `${invariant} ${detail} ${subject}`;
}

function lanesOf(violations: readonly Violation[]): LaneRef[] {
  const lanes = new Map<string, LaneRef>();
  for (const { slot, tenantId, laneId } of violations) {
    if (slot !== null) lanes.set(laneId, { slot, tenantId, laneId });
  }
  return [...lanes.values()];
}

import type { BootId, LaneRef, TurnId } from '../ids.ts';
import type { ClaimedTurn, LaneStore, RunningTurn } from '../ports/lane.ts';
import type { Counter, Logger } from '../ports/runtime.ts';
import type { LaneLocks, WakeUps } from '../ports/signals.ts';
import type { Scheduler } from './scheduler.ts';
import type { Turns } from './turn.ts';

export interface TurnKeeperOptions {
  readonly bootId: BootId;
  readonly store: Pick<LaneStore, 'running' | 'stillRunning' | 'handBack'>;
  readonly locks: Pick<LaneLocks, 'renew'>;
  readonly turns: Turns;
  readonly scheduler: Scheduler;
  readonly wakeUps: WakeUps;
  readonly partitionOf: (slot: number) => number;
  readonly log: Logger;
  /** By `at`. */
  readonly staleFences: Counter;
}

/** A turn of mine that I do not know may be one whose claim's answer is on its way; older than this it is none. */
const UNKNOWN_MS = 5_000;
const TURNS_PER_QUESTION = 2_000;

/**
 * Compares this worker's turns with their rows (protocol: poll, lock). The rows decide: a turn that runs here and not
 * there is aborted; one that runs there and is not known here is handed back; a lost lock only makes one look.
 */
export class TurnKeeper {
  readonly #options: TurnKeeperOptions;

  constructor(options: TurnKeeperOptions) {
    this.#options = options;
  }

  /** Aborts what no longer runs. For every second. @throws StoreError */
  async poll(): Promise<void> {
    await this.#ask(this.#options.turns.atWork());
  }

  /** Hands back what runs under my name without my knowing it. For every few seconds. @throws StoreError */
  async handBackUnknown(): Promise<void> {
    const { bootId, store, turns, wakeUps, partitionOf, log } = this.#options;
    const running = await store.running(bootId);
    const unknown = running.filter(({ fence, ageMs }) => ageMs > UNKNOWN_MS && !turns.knows(fence.turnId));
    if (unknown.length === 0) return;
    const given = await store.handBack(bootId, unknown.map(handBackOf));
    for (const [i, { lane, fence }] of unknown.entries()) {
      if (given[i] !== true) continue;
      log.warn({ laneId: lane.laneId, turnId: fence.turnId }, 'a turn that nobody ran was handed back');
      wakeUps.wake(partitionOf(lane.slot), [{ lane, ord: null }]);
    }
  }

  /** Renews the locks of all lanes at work or in hand. A rival's lock is only a reason to look at the row. @throws StoreError */
  async renewLocks(): Promise<void> {
    const { bootId, locks, scheduler, turns } = this.#options;
    const lanes = scheduler.withLock();
    if (lanes.length === 0) return;
    const answers = await locks.renew(bootId, lanes);
    const lost = new Set(lanes.filter((_, i) => answers[i]?.held === 'other').map(({ laneId }) => laneId));
    for (const laneId of lost) scheduler.lockLost(laneId);
    if (lost.size > 0) await this.#ask(turns.atWork().filter(({ lane }) => lost.has(lane.laneId)));
  }

  async #ask(claimed: readonly ClaimedTurn[]): Promise<void> {
    for (let from = 0; from < claimed.length; from += TURNS_PER_QUESTION) {
      const asked = claimed.slice(from, from + TURNS_PER_QUESTION).map(turnOf);
      const answers = await this.#options.store.stillRunning(asked);
      for (const [i, turn] of asked.entries()) if (answers[i] === false) this.#lost(turn);
    }
  }

  #lost({ lane, turnId }: { readonly lane: LaneRef; readonly turnId: TurnId }): void {
    const { turns, staleFences, log } = this.#options;
    if (!turns.stop(turnId)) return;
    staleFences.inc({ at: 'poll' });
    log.warn({ code: 'fenced', laneId: lane.laneId, turnId }, 'a turn was aborted: its row says that it ended');
  }
}

function turnOf({ lane, fence }: ClaimedTurn): { lane: LaneRef; turnId: TurnId } {
  return { lane, turnId: fence.turnId };
}

function handBackOf({ lane, fence }: RunningTurn) {
  return { lane, fence, hadEffect: false, reason: 'local_failure' as const };
}

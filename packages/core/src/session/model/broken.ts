import type { BootId, LaneId, LaneRef } from '../../ids.ts';
import type { LaneStore } from '../../ports/lane.ts';
import type { LaneLocks } from '../../ports/signals.ts';
import type { LaneEntry, Scheduler } from '../scheduler.ts';
import type { Interleaver } from './interleaver.ts';
import type { MemoryLanes } from './memory-lanes.ts';

/** Ways to break the worker, for a test that the checks see it (protocol §3). */
export interface Broken {
  /** `dirty` is cleared when an answer arrives instead of before the question is sent. */
  readonly dirtyLate?: boolean;
  /** Nobody looks after a release. */
  readonly noLook?: boolean;
  /** One looks before the lock is released. */
  readonly lookFirst?: boolean;
  /** A lane whose lock a rival holds is dropped. */
  readonly dropOnBusy?: boolean;
  /** Who may not claim drops the lane without telling the owner. */
  readonly noReact?: boolean;
  /** A stop names the lane: it ends whatever runs there when it arrives. */
  readonly stopNamesLane?: boolean;
  /** Writes are let in by the fence's number alone. */
  readonly fenceOnly?: boolean;
}

/** The scheduler, and a view of the entries that it gave out. */
export function breakScheduler(scheduler: Scheduler, broken: Broken): Map<LaneId, LaneEntry> {
  const entries = new Map<LaneId, LaneEntry>();
  const next = scheduler.next.bind(scheduler);
  scheduler.next = (max) => {
    const picked = next(max);
    for (const entry of picked) entries.set(entry.lane.laneId, entry);
    return picked;
  };
  if (broken.dropOnBusy) scheduler.defer = (entry) => scheduler.drop(entry);
  return entries;
}

interface Parts {
  readonly bootId: BootId;
  readonly lanes: MemoryLanes;
  readonly locks: LaneLocks;
  readonly steps: Interleaver;
  readonly entries: ReadonlyMap<LaneId, LaneEntry>;
}

/** Store and locks as a broken worker uses them. */
export function breakServices(parts: Parts, broken: Broken): { readonly store: LaneStore; readonly locks: LaneLocks } {
  const { bootId, lanes, steps, entries } = parts;
  const clearLate = <Answers>(refs: readonly LaneRef[], answers: Answers): Answers => {
    for (const { laneId } of broken.dirtyLate ? refs : []) {
      const entry = entries.get(laneId);
      if (entry !== undefined) entry.dirty = false;
    }
    return answers;
  };
  const looked = new Map<LaneId, boolean>();
  const store: LaneStore = {
    claim: async (boot, items) => clearLate(items.map(laneOf), await lanes.claim(boot, items)),
    commit: async (boot, items) => clearLate(items.map(laneOf), await lanes.commit(boot, items)),
    look: (refs) => {
      if (broken.lookFirst) return Promise.resolve(refs.map(({ laneId }) => looked.get(laneId) ?? false));
      return broken.noLook ? steps.request(bootId, () => refs.map(() => false)) : lanes.look(bootId, refs);
    },
    handBack: (boot, items) => lanes.handBack(boot, items),
    append: () => lanes.append(),
    scan: () => lanes.scan(),
    running: (boot) => lanes.running(boot),
    stillRunning: (asked) => lanes.stillRunning(bootId, asked),
  };
  const locks: LaneLocks = {
    take: (boot, refs, gone) => parts.locks.take(boot, refs, gone),
    renew: (boot, refs) => parts.locks.renew(boot, refs),
    release: async (boot, refs) => {
      const answers = broken.lookFirst ? await lanes.look(bootId, refs) : [];
      for (const [i, { laneId }] of refs.entries()) looked.set(laneId, answers[i] ?? false);
      return await parts.locks.release(boot, refs);
    },
  };
  return { store, locks };
}

function laneOf({ lane }: { readonly lane: LaneRef }): LaneRef {
  return lane;
}

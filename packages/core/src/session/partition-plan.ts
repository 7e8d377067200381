import type { BootId } from '../ids.ts';
import type { PartitionRow, WorkerRow } from '../ports/ownership.ts';

export interface ClusterView {
  readonly workers: readonly WorkerRow[];
  readonly partitions: readonly PartitionRow[];
}

export interface PartitionPlan {
  /** Free ones, or ones of the dead, that I should take now. */
  readonly acquire: readonly number[];
  /** Mine that another live worker should have. */
  readonly handOver: readonly number[];
}

/** A worker silent for longer is not counted on, though it is not dead yet. */
const SILENT_MS = 1_500;
/** A partition that its preferred worker leaves alone this long is taken by whoever sees it. */
const UNCLAIMED_MS = 2_000;
/** What a worker left alone is not offered to it again before this. */
const SPURNED_MS = 30_000;

/**
 * Which partitions a worker should own: each goes to the live worker that scores highest for it (rendezvous hashing),
 * so that all workers agree without asking, and one that comes or goes moves only its own share. A plan is a wish:
 * ownership is the store's compare-and-set, and safety does not rest on it.
 */
export class PartitionPlanner {
  readonly #me: BootId;
  readonly #freeSinceMs = new Map<number, number>();
  readonly #spurned = new Map<number, { readonly by: BootId; readonly untilMs: number }>();

  constructor(me: BootId) {
    this.#me = me;
  }

  plan(view: ClusterView, nowMs: number): PartitionPlan {
    const candidates = view.workers
      .filter(({ bootId, state, silentMs }) => state === 'live' && (bootId === this.#me || silentMs < SILENT_MS))
      .map(({ bootId }) => bootId);
    const acquire: number[] = [];
    const handOver: number[] = [];
    for (const partition of view.partitions) {
      const preferred = preferredOwner(partition.id, candidates);
      if (partition.owner === this.#me) {
        this.#freeSinceMs.delete(partition.id);
        if (this.#shouldHandOver(partition.id, preferred, nowMs)) handOver.push(partition.id);
      } else if (isTakeable(partition)) {
        if (this.#shouldAcquire(partition.id, preferred, nowMs)) acquire.push(partition.id);
      } else this.#freeSinceMs.delete(partition.id);
    }
    return { acquire, handOver };
  }

  #shouldAcquire(id: number, preferred: BootId | null, nowMs: number): boolean {
    const sinceMs = this.#freeSinceMs.get(id) ?? nowMs;
    this.#freeSinceMs.set(id, sinceMs);
    if (preferred === null) return false;
    if (preferred === this.#me) return true;
    if (nowMs - sinceMs < UNCLAIMED_MS) return false;
    this.#spurned.set(id, { by: preferred, untilMs: nowMs + SPURNED_MS });
    return true;
  }

  #shouldHandOver(id: number, preferred: BootId | null, nowMs: number): boolean {
    if (preferred === null || preferred === this.#me) return false;
    const spurned = this.#spurned.get(id);
    if (spurned?.by === preferred && nowMs < spurned.untilMs) return false;
    this.#spurned.delete(id);
    return true;
  }
}

function isTakeable({ owner, ownerState }: PartitionRow): boolean {
  return owner === null || ownerState === 'dead' || ownerState === 'gone';
}

/** The highest score wins; equal scores go to the lower boot id. */
export function preferredOwner(partition: number, candidates: readonly BootId[]): BootId | null {
  let best: BootId | null = null;
  let bestScore = -1;
  for (const candidate of candidates) {
    const score = scoreOf(partition, candidate);
    if (score > bestScore || (score === bestScore && best !== null && candidate < best)) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}

/** 32 bits of FNV-1a over the boot id and the partition, mixed so that near inputs score far apart (murmur3's finaliser). */
function scoreOf(partition: number, bootId: BootId): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < bootId.length; i++) hash = Math.imul(hash ^ bootId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ partition, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

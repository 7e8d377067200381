import type { BootId, LaneLocks, LaneRef, LockAnswer } from '@turnkeeper/core';
import { lockKey, partitionTag } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { Script } from './script.ts';

export interface LaneLocksOptions {
  readonly link: RedisLink;
  /** Slot → partition: its locks share a hash tag. */
  readonly partitionOf: (slot: number) => number;
  /** Default 3 s, the lease of a worker; renew every second. */
  readonly ttlMs?: number;
}

const TTL_MS = 3000;
/** Locks per script call: bounds how long Redis is busy with one. */
const KEYS_MAX = 500;

const MINE: LockAnswer = { held: 'mine' };
const AWAY: LockAnswer = { held: 'away' };

interface Group {
  readonly keys: string[];
  /** Where each key's lane stands in the call. */
  readonly indices: number[];
}

/**
 * Lane locks: one key per lane that a worker has in hand, its value the boot id, gone by itself after the time to
 * live. A call costs one script per 500 lanes, on a cluster also one per partition, all sent at once. They keep rivals quiet and protect
 * nothing: losing them all (FLUSHALL) costs a few refused claims.
 */
export class RedisLaneLocks implements LaneLocks {
  readonly #link: RedisLink;
  readonly #partitionOf: (slot: number) => number;
  readonly #ttlMs: number;
  readonly #take = new Script('take-locks');
  readonly #renew = new Script('renew-locks');
  readonly #takeOver = new Script('take-over-locks');
  readonly #release = new Script('release-locks');

  constructor(options: LaneLocksOptions) {
    this.#link = options.link;
    this.#partitionOf = options.partitionOf;
    this.#ttlMs = options.ttlMs ?? TTL_MS;
  }

  async take(bootId: BootId, lanes: readonly LaneRef[], gone?: ReadonlySet<BootId>): Promise<LockAnswer[]> {
    const answers = await this.#ask(this.#take, lanes, () => [bootId, this.#ttlMs]);
    if (gone === undefined || gone.size === 0) return answers;
    const free = answers.flatMap((answer, i) => (answer.held === 'other' && gone.has(answer.by) ? [i] : []));
    if (free.length === 0) return answers;
    return this.#takeFrom(bootId, lanes, { answers, free });
  }

  renew(bootId: BootId, lanes: readonly LaneRef[]): Promise<LockAnswer[]> {
    return this.#ask(this.#renew, lanes, () => [bootId, this.#ttlMs]);
  }

  async release(bootId: BootId, lanes: readonly LaneRef[]): Promise<boolean> {
    const answers = await this.#ask(this.#release, lanes, () => [bootId]);
    return this.#link.away || answers.every(({ held }) => held !== 'away');
  }

  /** Second try for the lanes at `free`: their holders no longer count. */
  async #takeFrom(
    bootId: BootId,
    lanes: readonly LaneRef[],
    { answers, free }: { answers: LockAnswer[]; free: readonly number[] },
  ): Promise<LockAnswer[]> {
    const holders = free.map((i) => holderOf(answers[i]));
    const again = await this.#ask(
      this.#takeOver,
      free.flatMap((i) => lanes[i] ?? []),
      (indices) => [bootId, this.#ttlMs, ...indices.map((i) => holders[i] ?? '')],
    );
    for (const [n, i] of free.entries()) answers[i] = again[n] ?? AWAY;
    return answers;
  }

  /** Runs a script over the lanes, partition by partition; `args` get the positions of the lanes of one call. */
  async #ask(
    script: Script,
    lanes: readonly LaneRef[],
    args: (indices: readonly number[]) => (string | number)[],
  ): Promise<LockAnswer[]> {
    const answers: LockAnswer[] = lanes.map(() => AWAY);
    if (this.#link.away) return answers;
    await Promise.all(
      this.#groups(lanes).map(async ({ keys, indices }) => {
        const others = await this.#link.run((client) => script.run(client, keys, args(indices)));
        if (others === 'away') return;
        for (const i of indices) answers[i] = MINE;
        if (!Array.isArray(others)) return;
        for (let n = 0; n < others.length; n += 2) {
          const at = indices[Number(others[n]) - 1];
          if (at !== undefined) answers[at] = { held: 'other', by: String(others[n + 1]) as BootId };
        }
      }),
    );
    return answers;
  }

  #groups(lanes: readonly LaneRef[]): Group[] {
    const open = new Map<number, Group>();
    const groups: Group[] = [];
    for (const [i, lane] of lanes.entries()) {
      const partition = this.#partitionOf(lane.slot);
      const together = this.#link.isCluster ? partition : 0;
      let group = open.get(together);
      if (group === undefined || group.keys.length >= KEYS_MAX) {
        group = { keys: [], indices: [] };
        open.set(together, group);
        groups.push(group);
      }
      group.keys.push(lockKey(partitionTag(this.#link.keyPrefix, partition), lane));
      group.indices.push(i);
    }
    return groups;
  }
}

function holderOf(answer: LockAnswer | undefined): string {
  return answer?.held === 'other' ? answer.by : '';
}

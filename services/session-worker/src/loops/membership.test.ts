import { type AppError, type BootId, Lease, type OwnershipStore, type PartitionRow } from '@turnkeeper/core';
import { SeededIds, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { Membership } from './membership.ts';

const ids = new SeededIds(3);
const [me, other] = [ids.next() as BootId, ids.next() as BootId];

/** A store with four partitions and a log of what was done, in order. */
class Scene {
  readonly clock = new VirtualClock();
  readonly lease = new Lease(this.clock, { leaseMs: 3000, marginMs: 500 });
  readonly log: string[] = [];
  readonly deaths: AppError[] = [];
  readonly workers = new Map<BootId, 'live' | 'leaving'>([[me, 'live']]);
  readonly owners = new Map<number, BootId | null>([0, 1, 2, 3].map((id) => [id, null]));
  isAlive = true;
  releaseFails = false;
  readonly membership: Membership;

  constructor() {
    this.membership = new Membership({
      ...{ bootId: me, lease: this.lease, clock: this.clock, logger: silentLogger, ownership: this.#store() },
      consumers: {
        open: (id) => this.log.push(`open ${id}`),
        close: async (id) => {
          this.log.push(`close ${id}`);
        },
      },
      giveAway: (id) => this.log.push(`give away ${id}`),
      onDead: (error) => this.deaths.push(error),
    });
  }

  #store(): OwnershipStore {
    return {
      register: async () => undefined,
      heartbeat: async () => this.isAlive,
      leave: async () => {
        this.log.push('leave');
        this.workers.set(me, 'leaving');
      },
      gone: async () => {
        this.log.push('gone');
        this.isAlive = false;
      },
      view: async () => ({
        workers: [...this.workers].map(([bootId, state]) => ({ bootId, state, turnSlots: 1, silentMs: 0 })),
        partitions: [...this.owners].map(([id, owner]): PartitionRow => {
          const ownerState = owner === null ? null : (this.workers.get(owner) ?? 'dead');
          return { id, owner, ownerState, epoch: '1' };
        }),
      }),
      acquire: async (_boot, wanted) => {
        for (const id of wanted) this.owners.set(id, me);
        return [...wanted];
      },
      release: async (_boot, some) => {
        if (this.releaseFails) throw new Error('away');
        this.log.push(`release ${some.join(' ')}`);
        for (const id of some) this.owners.set(id, null);
      },
      slotMap: async () => Int16Array.from({ length: 4096 }, (_, slot) => slot % 4),
    };
  }
}

describe('the heartbeat', () => {
  it('renews the lease from when it was sent', async () => {
    const { membership, lease } = new Scene();
    await membership.beat();
    expect(lease.isSafe).toBe(true);
  });

  it('that finds no live row ends the worker', async () => {
    const scene = new Scene();
    scene.isAlive = false;
    await scene.membership.beat();
    expect(scene.deaths).toHaveLength(1);
    expect(scene.lease.isSafe).toBe(false);
  });

  it('does not take the own goodbye for death', async () => {
    const scene = new Scene();
    await scene.membership.gone();
    await scene.membership.beat();
    expect(scene.deaths).toEqual([]);
  });
});

describe('partitions', () => {
  it('are taken, and may be claimed from then on', async () => {
    const { membership, log } = new Scene();
    expect(membership.mayClaim(0)).toBe(false);
    await membership.settlePartitions();
    expect(log).toEqual(['open 0', 'open 1', 'open 2', 'open 3']);
    expect(membership.mayClaim(0)).toBe(true);
    await membership.settlePartitions();
    expect(log).toHaveLength(4);
  });

  it('are handed over to a newcomer: consumer closed, then released, then what waits is told', async () => {
    const scene = new Scene();
    await scene.membership.settlePartitions();
    scene.log.length = 0;
    scene.workers.set(other, 'live');
    await scene.membership.settlePartitions();
    const given = [0, 1, 2, 3].filter((id) => !scene.membership.owns(id));
    expect(given.length).toBeGreaterThan(0);
    expect(scene.log).toEqual([
      ...given.map((id) => `close ${id}`),
      `release ${given.join(' ')}`,
      ...given.map((id) => `give away ${id}`),
    ]);
  });

  it('are opened again when their release failed', async () => {
    const scene = new Scene();
    await scene.membership.settlePartitions();
    scene.workers.set(other, 'live');
    scene.releaseFails = true;
    await expect(scene.membership.settlePartitions()).rejects.toThrow();
    scene.workers.delete(other);
    scene.releaseFails = false;
    await scene.membership.settlePartitions();
    expect(scene.membership.owned).toHaveLength(4);
  });

  it('that another one took meanwhile are given up', async () => {
    const scene = new Scene();
    await scene.membership.settlePartitions();
    scene.log.length = 0;
    scene.workers.set(other, 'live');
    scene.owners.set(2, other);
    await scene.membership.settlePartitions();
    expect(scene.membership.mayClaim(2)).toBe(false);
    expect(scene.log.slice(0, 2)).toEqual(['close 2', 'give away 2']);
  });

  it('that the store says are mine are adopted: the answer of their acquire may have been lost', async () => {
    const scene = new Scene();
    for (const id of scene.owners.keys()) scene.owners.set(id, me);
    await scene.membership.settlePartitions();
    expect(scene.membership.owned).toEqual([0, 1, 2, 3]);
  });

  it('are all given back by a worker that leaves, and none is taken any more', async () => {
    const scene = new Scene();
    await scene.membership.settlePartitions();
    scene.log.length = 0;
    await scene.membership.leave();
    expect(scene.membership.owned).toEqual([]);
    const order = ['close 0', 'leave', 'release 0 1 2 3', 'give away 0'].map((step) => scene.log.indexOf(step));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    await scene.membership.settlePartitions();
    expect(scene.membership.owned).toEqual([]);
  });

  it('may not be claimed from the moment a worker begins to leave', async () => {
    const scene = new Scene();
    await scene.membership.settlePartitions();
    const left = scene.membership.leave();
    expect(scene.membership.mayClaim(0)).toBe(false);
    await left;
  });
});

describe('other processes', () => {
  it('that were seen and are not any more are gone', async () => {
    const scene = new Scene();
    scene.workers.set(other, 'live');
    await scene.membership.settlePartitions();
    expect(scene.membership.goneBoots().has(other)).toBe(false);
    scene.workers.delete(other);
    await scene.membership.settlePartitions();
    expect(scene.membership.goneBoots().has(other)).toBe(true);
  });

  it('that say goodbye are gone before the store shows it', () => {
    const { membership } = new Scene();
    membership.saidGoodbye(other);
    expect(membership.goneBoots().has(other)).toBe(true);
  });
});

it('knows which partition a slot belongs to', async () => {
  const { membership } = new Scene();
  await membership.refreshSlotMap();
  expect([0, 5, 4095].map((slot) => membership.partitionOf(slot))).toEqual([0, 1, 3]);
});

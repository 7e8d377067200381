import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LaneId, LaneRef, TenantId } from '../ids.ts';
import { VirtualClock } from '../testing/index.ts';
import { type LaneEntry, Scheduler, type SchedulerOptions } from './scheduler.ts';

function lane(tenant: string, name: string): LaneRef {
  return { slot: 1, tenantId: tenant as TenantId, laneId: `${tenant}/${name}` as LaneId };
}

function schedulerOf(options: Partial<SchedulerOptions> = {}): { scheduler: Scheduler; clock: VirtualClock } {
  const clock = new VirtualClock();
  const scheduler = new Scheduler({
    clock,
    slotsMax: 4,
    capOf: () => 100,
    lanesMax: 1000,
    slice: { turns: 4, ms: 2000 },
    deferMs: 1000,
    lingerMs: 500,
    ...options,
  });
  return { scheduler, clock };
}

function names(entries: readonly LaneEntry[]): string[] {
  return entries.map((entry) => entry.lane.laneId);
}

describe('the scheduler', () => {
  it('takes tenants in turn, and each tenant’s lanes in order of arrival', () => {
    const { scheduler } = schedulerOf({ slotsMax: 100 });
    for (const name of ['1', '2', '3']) scheduler.wake(lane('a', name), null);
    scheduler.wake(lane('b', '1'), null);
    expect(names(scheduler.next(10))).toEqual(['a/1', 'b/1', 'a/2', 'a/3']);
  });

  it('keeps one entry for a lane: a second wake-up marks it dirty', () => {
    const { scheduler } = schedulerOf();
    expect(scheduler.wake(lane('a', '1'), '5')).toBe('added');
    const [entry] = scheduler.next(1);
    expect(scheduler.wake(lane('a', '1'), '6')).toBe('known');
    expect(entry?.dirty).toBe(true);
    expect(scheduler.next(1)).toEqual([]);
  });

  it('drops a wake-up whose event was claimed, and no other', () => {
    const { scheduler } = schedulerOf();
    scheduler.wake(lane('a', '1'), '5');
    const [entry] = scheduler.next(1);
    if (entry === undefined) throw new Error('nothing was picked');
    scheduler.running(entry, ['5']);
    expect(scheduler.wake(lane('a', '1'), '5')).toBe('served');
    expect(entry.dirty).toBe(false);
    scheduler.leave(entry);
    scheduler.drop(entry);
    expect(scheduler.wake(lane('a', '1'), '5')).toBe('served');
    expect(scheduler.wake(lane('b', '1'), '5')).toBe('added');
    // A lower event of another ingress may have become visible after the claim.
    expect(scheduler.wake(lane('a', '1'), '4')).toBe('added');
    scheduler.unclaimed(['5']);
    expect(scheduler.wake(lane('a', '1'), '5')).toBe('known');
  });

  it('gives no tenant more than its cap, nor more than three quarters of the slots', () => {
    const { scheduler } = schedulerOf({ slotsMax: 8, capOf: (tenant) => (tenant === 'a' ? 2 : 100) });
    for (let i = 0; i < 10; i++) {
      scheduler.wake(lane('a', String(i)), null);
      scheduler.wake(lane('b', String(i)), null);
    }
    const picked = scheduler.next(100);
    expect(picked.filter((entry) => entry.lane.tenantId === 'a')).toHaveLength(2);
    expect(picked.filter((entry) => entry.lane.tenantId === 'b')).toHaveLength(6);
    expect(Object.fromEntries(scheduler.slotsByTenant())).toEqual({ a: 2, b: 6 });
  });

  it('goes on with a capped tenant when a slot of it is free, or when its cap rises', () => {
    let cap = 1;
    const { scheduler } = schedulerOf({ capOf: () => cap });
    scheduler.wake(lane('a', '1'), null);
    scheduler.wake(lane('a', '2'), null);
    scheduler.wake(lane('a', '3'), null);
    const [first] = scheduler.next(10);
    expect(scheduler.next(10)).toEqual([]);
    if (first === undefined) throw new Error('nothing was picked');
    scheduler.leave(first);
    expect(names(scheduler.next(10))).toEqual(['a/2']);
    cap = 2;
    scheduler.capsChanged();
    expect(names(scheduler.next(10))).toEqual(['a/3']);
  });

  it('ends a slice after four turns or two seconds, but only when another lane waits', async () => {
    const { scheduler, clock } = schedulerOf({ slotsMax: 2 });
    scheduler.wake(lane('a', '1'), null);
    const [entry] = scheduler.next(1);
    if (entry === undefined) throw new Error('nothing was picked');
    for (let i = 0; i < 4; i++) scheduler.running(entry, []);
    expect(scheduler.sliceOver(entry)).toBe(false);
    scheduler.wake(lane('a', '2'), null);
    expect(scheduler.sliceOver(entry)).toBe(true);
    scheduler.leave(entry);
    scheduler.requeue(entry);
    const [second, again] = scheduler.next(2);
    expect(names([second, again].filter((each) => each !== undefined))).toEqual(['a/2']);
    if (second === undefined) throw new Error('nothing was picked');
    expect(scheduler.sliceOver(second)).toBe(false);
    await clock.advance(2000);
    expect(scheduler.sliceOver(second)).toBe(true);
  });

  it('picks a deferred lane after its wait, or at once when a wake-up names it', async () => {
    const { scheduler, clock } = schedulerOf();
    scheduler.wake(lane('a', '1'), null);
    scheduler.wake(lane('a', '2'), null);
    for (const entry of scheduler.next(2)) scheduler.defer(entry);
    scheduler.wakeDeferred();
    expect(scheduler.next(2)).toEqual([]);
    scheduler.wake(lane('a', '2'), '7');
    expect(names(scheduler.next(2))).toEqual(['a/2']);
    await clock.advance(1000);
    scheduler.wakeDeferred();
    expect(names(scheduler.next(2))).toEqual(['a/1']);
  });

  it('holds no more lanes than it may, and says so', () => {
    const { scheduler } = schedulerOf({ lanesMax: 2 });
    expect(scheduler.wake(lane('a', '1'), null)).toBe('added');
    expect(scheduler.wake(lane('a', '2'), null)).toBe('added');
    expect(scheduler.wake(lane('a', '3'), null)).toBe('full');
    const [entry] = scheduler.next(1);
    if (entry === undefined) throw new Error('nothing was picked');
    scheduler.drop(entry);
    expect(scheduler.wake(lane('a', '3'), null)).toBe('added');
  });

  it('gives away the waiting lanes of a partition and keeps those at work', () => {
    const { scheduler } = schedulerOf({ slotsMax: 2 });
    for (const name of ['1', '2', '3', '4']) scheduler.wake(lane('a', name), null);
    const [running] = scheduler.next(1);
    const taken = scheduler.takeWaiting((each) => each.laneId !== 'a/4');
    expect(taken.map((each) => each.laneId)).toEqual(['a/2', 'a/3']);
    expect(scheduler.has(lane('a', '4').laneId)).toBe(true);
    expect(running?.state).toBe('claiming');
    expect(scheduler.snapshot(() => 'all')).toMatchObject({ lanes: 2, ready: 1 });
  });

  it('tells how long the oldest ready lane of each group waits', async () => {
    const { scheduler, clock } = schedulerOf({ slotsMax: 2 });
    scheduler.wake(lane('a', '1'), null);
    await clock.advance(30);
    scheduler.wake(lane('a', '2'), null);
    scheduler.wake(lane('b', '1'), null);
    await clock.advance(10);
    const { oldestReadyMs } = scheduler.snapshot((each) => each.tenantId);
    expect([...oldestReadyMs]).toEqual([
      ['a', 40],
      ['b', 10],
    ]);
  });

  it('serves a hundred lanes of one event each before the second slice of a lane with no end', () => {
    const { scheduler } = schedulerOf({ slotsMax: 1 });
    scheduler.wake(lane('a', 'endless'), null);
    for (let i = 0; i < 100; i++) scheduler.wake(lane('a', String(i)), null);
    const served: string[] = [];
    while (served.length < 102) {
      const [entry] = scheduler.next(1);
      if (entry === undefined) throw new Error('nothing was picked');
      served.push(entry.lane.laneId);
      const isEndless = entry.lane.laneId === 'a/endless';
      for (let turn = 0; isEndless && turn < 4; turn++) scheduler.running(entry, []);
      scheduler.leave(entry);
      if (isEndless) scheduler.requeue(entry);
      else scheduler.drop(entry);
    }
    expect(served[0]).toBe('a/endless');
    expect(served.indexOf('a/endless', 1)).toBe(101);
  });

  it('lets a tenant with 5,000 ready lanes delay another by one pick at most', () => {
    const { scheduler } = schedulerOf({ slotsMax: 200, lanesMax: 10_000, capOf: () => 1000 });
    for (let i = 0; i < 5000; i++) scheduler.wake(lane('a', String(i)), null);
    const running = scheduler.next(150);
    expect(running).toHaveLength(150);
    scheduler.wake(lane('b', '1'), null);
    expect(names(scheduler.next(2)).includes('b/1')).toBe(true);
  });
});

type How = 'run' | 'continue' | 'defer' | 'leave' | 'linger' | 'end';

type Step =
  | { do: 'wake'; tenant: number; lane: number }
  | { do: 'next'; max: number }
  | { do: 'step'; which: number; how: How }
  | { do: 'cap'; tenant: number; cap: number }
  | { do: 'advance'; ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('wake' as const), tenant: fc.nat(3), lane: fc.nat(5) }),
    fc.record({ do: fc.constant('next' as const), max: fc.integer({ min: 1, max: 4 }) }),
    fc.record({
      do: fc.constant('step' as const),
      which: fc.nat(20),
      how: fc.constantFrom<How>('run', 'continue', 'defer', 'leave', 'linger', 'end'),
    }),
    fc.record({ do: fc.constant('cap' as const), tenant: fc.nat(3), cap: fc.nat(4) }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 500, 1000) }),
  ),
  { minLength: 1, maxLength: 120 },
);

/** Drives a scheduler as a worker does, and keeps what must hold. `owed` = lanes woken since their last claim was sent. */
class Driver {
  readonly clock = new VirtualClock();
  readonly caps = [4, 4, 4, 4];
  readonly owed = new Set<string>();
  readonly out = new Map<string, LaneEntry>();
  readonly scheduler: Scheduler;

  constructor(slotsMax: number) {
    this.scheduler = new Scheduler({
      clock: this.clock,
      slotsMax,
      capOf: (tenant) => this.caps[Number(tenant)] ?? 0,
      lanesMax: 1000,
      slice: { turns: 2, ms: 1000 },
      deferMs: 700,
      lingerMs: 300,
    });
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'wake') {
      const ref = lane(String(step.tenant), String(step.lane));
      this.owed.add(ref.laneId);
      this.scheduler.wake(ref, null);
    } else if (step.do === 'next') this.pick(step.max);
    else if (step.do === 'step') this.move([...this.out.values()][step.which % Math.max(1, this.out.size)], step.how);
    else if (step.do === 'cap') {
      this.caps[step.tenant] = step.cap;
      this.scheduler.capsChanged();
    } else {
      await this.clock.advance(step.ms);
      this.scheduler.wakeDeferred();
      for (const entry of this.scheduler.lingerOver()) this.out.set(entry.lane.laneId, entry);
    }
  }

  pick(max: number): LaneEntry[] {
    const before = this.scheduler.slotsByTenant();
    const picked = this.scheduler.next(max);
    for (const entry of picked) {
      expect(this.out.has(entry.lane.laneId), 'a lane was claimed twice at once').toBe(false);
      this.out.set(entry.lane.laneId, entry);
      this.sendClaim(entry);
    }
    for (const [tenant, used] of this.scheduler.slotsByTenant()) {
      if (used > (before.get(tenant) ?? 0)) expect(used).toBeLessThanOrEqual(this.caps[Number(tenant)] ?? 0);
    }
    return picked;
  }

  sendClaim(entry: LaneEntry): void {
    entry.dirty = false;
    this.owed.delete(entry.lane.laneId);
  }

  move(entry: LaneEntry | undefined, how: How): void {
    if (entry === undefined) return;
    if (entry.state === 'claiming' && how === 'run') this.scheduler.running(entry, []);
    else if (entry.state === 'claiming' && how === 'defer') this.gone(entry, () => this.scheduler.defer(entry));
    else if (entry.state === 'running' && how === 'continue') {
      this.scheduler.continue(entry);
      this.sendClaim(entry);
    } else if (entry.state === 'releasing' && how === 'end') {
      this.gone(entry, () => (entry.dirty ? this.scheduler.requeue(entry) : this.scheduler.drop(entry)));
    } else if (entry.state === 'running' && how === 'linger') {
      if (!entry.dirty) this.gone(entry, () => this.scheduler.linger(entry));
    } else if (entry.state !== 'releasing' && how === 'leave') this.scheduler.leave(entry);
  }

  gone(entry: LaneEntry, how: () => void): void {
    this.out.delete(entry.lane.laneId);
    how();
  }
}

describe('the scheduler, for any order of steps', () => {
  it('never claims a lane twice at once, never passes its slots, never forgets a woken lane', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, async (slotsMax, list) => {
        const driver = new Driver(slotsMax);
        for (const step of list) {
          await driver.take(step);
          const held = [...driver.out.values()].filter((entry) => entry.state !== 'releasing');
          expect(driver.scheduler.slotsUsed).toBe(held.length);
          expect(driver.scheduler.slotsUsed).toBeLessThanOrEqual(slotsMax);
          for (const laneId of driver.owed) expect(driver.scheduler.has(laneId as LaneId)).toBe(true);
        }
        driver.caps.fill(4);
        driver.scheduler.capsChanged();
        for (let i = 0; i < 200 && driver.owed.size > 0; i++) {
          for (const entry of [...driver.out.values()]) driver.move(entry, 'leave');
          for (const entry of [...driver.out.values()]) driver.move(entry, 'end');
          await driver.clock.advance(700);
          driver.scheduler.wakeDeferred();
          driver.pick(4);
        }
        expect([...driver.owed]).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('makes a ready tenant below its cap wait for at most one pick of each other tenant', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(40), { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 9 }),
        (lanes, max) => {
          const { scheduler } = schedulerOf({ slotsMax: 1000, lanesMax: 1000 });
          for (const [tenant, count] of lanes.entries()) {
            for (let i = 0; i < count; i++) scheduler.wake(lane(String(tenant), String(i)), null);
          }
          const left = [...lanes];
          const order: number[] = [];
          for (let picked = scheduler.next(max); picked.length > 0; picked = scheduler.next(max)) {
            order.push(...picked.map((entry) => Number(entry.lane.tenantId)));
          }
          const since = new Map<number, number>();
          for (const tenant of order) {
            since.set(tenant, 0);
            left[tenant] = (left[tenant] ?? 0) - 1;
            for (const [other, count] of left.entries()) {
              if (other === tenant || count <= 0) continue;
              const waited = (since.get(other) ?? 0) + 1;
              since.set(other, waited);
              expect(waited).toBeLessThan(lanes.length);
            }
          }
          expect(left.every((count) => count === 0)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { LaneId, LaneRef, TenantId } from '../ids.ts';
import { VirtualClock } from '../testing/index.ts';
import { Scheduler } from './scheduler.ts';

function lane(tenant: string, name: string): LaneRef {
  return { slot: 1, tenantId: tenant as TenantId, laneId: `${tenant}/${name}` as LaneId };
}

function lingering(options: { readonly lingerMs?: number; readonly lanesMax?: number } = {}) {
  const clock = new VirtualClock();
  const scheduler = new Scheduler({
    ...{
      clock,
      slotsMax: 4,
      capOf: () => 100,
      lanesMax: 1000,
      slice: { turns: 4, ms: 2000 },
      deferMs: 1000,
      lingerMs: 500,
    },
    ...options,
  });
  scheduler.wake(lane('a', '1'), null);
  const [entry] = scheduler.next(1);
  if (entry === undefined) throw new Error('nothing was picked');
  entry.isLocked = true;
  entry.dirty = false;
  return { scheduler, clock, entry, stays: scheduler.linger(entry) };
}

describe('a lane kept in hand', () => {
  it('gives its slot away, keeps its lock, and is ready at once when it is named', () => {
    const { scheduler, entry, stays } = lingering();
    expect(stays).toBe(true);
    expect(scheduler.slotsUsed).toBe(0);
    expect(scheduler.withLock()).toEqual([entry.lane]);
    expect(scheduler.wake(lane('a', '1'), null)).toBe('known');
    expect(scheduler.next(1)).toEqual([entry]);
    expect(entry.isLocked).toBe(true);
    expect(entry.dirty).toBe(true);
  });

  it('is to be released when its time is over, and not before', async () => {
    const { scheduler, clock, entry } = lingering();
    await clock.advance(499);
    expect(scheduler.lingerOver()).toEqual([]);
    await clock.advance(1);
    expect(scheduler.lingerOver()).toEqual([entry]);
    expect(entry.state).toBe('releasing');
    expect(scheduler.withLock()).toEqual([]);
    scheduler.wake(lane('a', '1'), null);
    expect(scheduler.next(1)).toEqual([]);
  });

  it('is released with its partition, also when it waits again', () => {
    const { scheduler, entry } = lingering();
    scheduler.wake(lane('a', '1'), null);
    scheduler.wake(lane('b', '1'), null);
    expect(scheduler.takeLocked(({ tenantId }) => tenantId === 'b')).toEqual([]);
    expect(scheduler.takeLocked(() => true)).toEqual([entry]);
    expect(scheduler.takeWaiting(() => true)).toEqual([lane('b', '1')]);
  });

  it('asks for its lock again when a rival took it meanwhile', () => {
    const { scheduler, entry } = lingering();
    scheduler.lockLost(entry.lane.laneId);
    expect(entry.isLocked).toBe(false);
    expect(scheduler.takeLocked(() => true)).toEqual([entry]);
  });

  it('is refused where none is to be kept, or half of all entries are kept', () => {
    expect(lingering({ lingerMs: 0 }).stays).toBe(false);
    const { scheduler } = lingering({ lanesMax: 2 });
    scheduler.wake(lane('a', '2'), null);
    const [second] = scheduler.next(1);
    expect(second && scheduler.linger(second)).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/index.ts';
import { Lease } from './lease.ts';

const limits = { leaseMs: 3000, marginMs: 500 };

describe('the lease of this process', () => {
  it('holds from the sending of the last answered heartbeat until a margin before it could be taken for dead', async () => {
    const clock = new VirtualClock();
    const lease = new Lease(clock, limits);
    expect(lease.isSafe).toBe(false);
    const sentMs = clock.monotonicMs();
    await clock.advance(400);
    lease.renewed(sentMs);
    await clock.advance(2_099);
    expect(lease.isSafe).toBe(true);
    await clock.advance(1);
    expect(lease.isSafe).toBe(false);
  });

  it('makes an effect wait for the next heartbeat, or the end', async () => {
    const clock = new VirtualClock();
    const lease = new Lease(clock, limits);
    const end = new AbortController();
    const [first, second] = [lease.untilSafe(end.signal), lease.untilSafe(end.signal)];
    lease.renewed(clock.monotonicMs());
    await clock.advance(50);
    expect(await first).toBe(true);
    expect(await second).toBe(true);
    await clock.advance(3_000);
    const third = lease.untilSafe(end.signal);
    end.abort();
    expect(await third).toBe(false);
  });
});

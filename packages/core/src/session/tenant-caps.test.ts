import { describe, expect, it } from 'vitest';
import type { TenantId } from '../ids.ts';
import { settled, silentLogger, VirtualClock } from '../testing/index.ts';
import { TenantCaps } from './tenant-caps.ts';

const acme = 'acme' as TenantId;

function capsOf(slots: number | null | Error) {
  const clock = new VirtualClock();
  const reads: TenantId[] = [];
  const told: string[] = [];
  const caps = new TenantCaps({
    onKnown: () => told.push('known'),
    ...{ clock, log: silentLogger },
    turnSlotsOf: async (tenantId) => {
      reads.push(tenantId);
      if (slots instanceof Error) throw slots;
      return slots;
    },
  });
  return { clock, caps, reads, told };
}

describe('what a tenant may use here', () => {
  it('is its limit less what the others use', async () => {
    const { caps } = capsOf(20);
    caps.capOf(acme);
    await settled();
    expect(caps.capOf(acme)).toBe(20);
    caps.exchanged(new Map([[acme, 15]]), 3);
    expect(caps.capOf(acme)).toBe(5);
  });

  it('is an equal share while Redis is away', async () => {
    const { caps } = capsOf(20);
    caps.capOf(acme);
    await settled();
    caps.exchanged('away', 3);
    expect(caps.capOf(acme)).toBe(6);
  });

  it('is at least one, however much the others use', async () => {
    const { caps } = capsOf(2);
    caps.capOf(acme);
    await settled();
    caps.exchanged(new Map([[acme, 50]]), 3);
    expect(caps.capOf(acme)).toBe(1);
    caps.exchanged('away', 30);
    expect(caps.capOf(acme)).toBe(1);
  });

  it('is nothing until the limit is known, and says when it is', async () => {
    const { caps, told } = capsOf(null);
    expect(caps.capOf(acme)).toBe(0);
    await settled();
    expect([caps.capOf(acme), told]).toEqual([100, ['known']]);
    await caps.refresh();
    expect(told).toEqual(['known']);
  });

  it('is nothing while it could not be read even once, for who knows whether the tenant is suspended', async () => {
    const { caps, clock, reads, told } = capsOf(new Error('away'));
    caps.capOf(acme);
    await settled();
    expect([caps.capOf(acme), caps.capOf(acme), reads.length, told]).toEqual([0, 0, 1, []]);
    await clock.advance(500);
    caps.capOf(acme);
    expect(reads).toHaveLength(2);
  });

  it('is nothing while the tenant is suspended, also while Redis is away', async () => {
    const { caps } = capsOf(0);
    caps.capOf(acme);
    await settled();
    expect(caps.capOf(acme)).toBe(0);
    caps.exchanged('away', 3);
    expect(caps.capOf(acme)).toBe(0);
  });

  it('is read again for those in use, and forgotten for the idle', async () => {
    const { caps, clock, reads } = capsOf(20);
    caps.capOf(acme);
    await caps.refresh();
    expect(reads).toHaveLength(2);
    await clock.advance(61_000);
    await caps.refresh();
    await caps.refresh();
    expect(reads).toHaveLength(2);
  });
});

import { describe, expect, it } from 'vitest';
import type { TenantId } from '../ids.ts';
import { QueuedEstimate } from './queued-estimate.ts';

const tenant = 'a' as TenantId;
const reading = (queued: number, measuredAtMs: number, ageMs = 0) =>
  new Map([[tenant, { queued, measuredAtMs, ageMs }]]);

describe('QueuedEstimate', () => {
  it('adds what was accepted here to what the leader measured', () => {
    const estimate = new QueuedEstimate();
    estimate.update(reading(5, 1));
    estimate.add(tenant);
    estimate.add(tenant);
    expect(estimate.of(tenant)).toBe(7);
  });

  it('keeps what was accepted while the same measurement stands, and forgets it with the next one', () => {
    const estimate = new QueuedEstimate();
    estimate.update(reading(5, 1));
    estimate.add(tenant);
    estimate.update(reading(5, 1, 1000));
    expect(estimate.of(tenant)).toBe(6);
    estimate.update(reading(3, 2));
    expect(estimate.of(tenant)).toBe(3);
  });

  it('counts nothing while nobody measures', () => {
    const estimate = new QueuedEstimate();
    estimate.add(tenant);
    expect(estimate.of(tenant)).toBe(0);
    estimate.update(reading(50, 1, 60_000));
    estimate.add(tenant);
    expect(estimate.of(tenant)).toBe(0);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SendOutcome, settleSend } from './retry.ts';

const HOUR_MS = 3_600_000;
const finishedAt = new Date(1_790_000_000_000);

function settle(
  outcome: SendOutcome,
  delivery: { attempt?: number; recovered?: boolean; ageMs?: number; random?: number; ledgerEnabled?: boolean } = {},
) {
  const { attempt = 1, recovered = false, ageMs = 0, random = 0, ledgerEnabled = true } = delivery;
  const nowMs = finishedAt.getTime() + ageMs;
  return settleSend({ delivery: { attempt, recovered, finishedAt }, outcome, ledgerEnabled, nowMs, random });
}

const refused = (retryAfterMs: number | null = null): SendOutcome => ({
  result: 'refused',
  code: 'http_503',
  retryAfterMs,
});
const error = { code: 'http_503' };

describe('settleSend', () => {
  it('tries a proven refusal again after 30 s, then after 120 s, then gives up', () => {
    expect(settle(refused())).toEqual({ state: 'pending', afterMs: 30_000, error });
    expect(settle(refused(), { attempt: 2 })).toEqual({ state: 'pending', afterMs: 120_000, error });
    expect(settle(refused(), { attempt: 3 })).toEqual({ state: 'abandoned', error });
  });

  it('tries nothing again without a ledger', () => {
    expect(settle(refused(), { ledgerEnabled: false })).toEqual({ state: 'abandoned', error });
    expect(settle({ result: 'delivered', ref: null }, { ledgerEnabled: false }).state).toBe('delivered');
  });

  it('does not count the uncertain send among the refusals', () => {
    expect(settle(refused(), { attempt: 3, recovered: true })).toEqual({ state: 'pending', afterMs: 120_000, error });
    expect(settle(refused(), { attempt: 4, recovered: true })).toEqual({ state: 'abandoned', error });
  });

  it('waits as long as the platform asks, and up to a fifth more, never less', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: HOUR_MS }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (askedMs, random) => {
          const settled = settle(refused(askedMs), { random });
          expect(settled.state).toBe('pending');
          if (settled.state !== 'pending') return;
          expect(settled.afterMs).toBeGreaterThanOrEqual(askedMs);
          expect(settled.afterMs).toBeLessThanOrEqual(askedMs * 1.2 + 1);
        },
      ),
    );
  });

  it('gives up when the next try would come after 24 h', () => {
    expect(settle(refused(), { ageMs: 24 * HOUR_MS - 30_000 }).state).toBe('pending');
    expect(settle(refused(), { ageMs: 24 * HOUR_MS - 29_999 }).state).toBe('abandoned');
    expect(settle(refused(25 * HOUR_MS)).state).toBe('abandoned');
  });

  it('never tries again what is delivered, refused for good or uncertain', () => {
    expect(settle({ result: 'delivered', ref: null })).toEqual({ state: 'delivered', ref: null });
    expect(settle({ result: 'failed', code: 'http_404' })).toEqual({ state: 'failed', error: { code: 'http_404' } });
    expect(settle({ result: 'unknown', code: 'timeout' })).toEqual({ state: 'unknown', error: { code: 'timeout' } });
  });
});

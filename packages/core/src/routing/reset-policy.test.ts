import { describe, expect, it } from 'vitest';
import { latestBoundary } from './daily-boundary.ts';
import { decideReset } from './reset-policy.ts';

const at = (instant: string) => Date.parse(instant);
const boundary = (now: string, hour: number, zone: string) =>
  new Date(latestBoundary(at(now), hour, zone)).toISOString();

describe('the boundary of a day', () => {
  it.each([
    ['an ordinary day', '2026-06-01T12:00:00Z', 4, 'Europe/Berlin', '2026-06-01T02:00:00.000Z'],
    [
      'before its hour: the one of the day before',
      '2026-06-01T01:59:59Z',
      4,
      'Europe/Berlin',
      '2026-05-31T02:00:00.000Z',
    ],
    ['the hour that the clock skips', '2026-03-29T12:00:00Z', 2, 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['the hour that comes twice: its first', '2026-10-25T12:00:00Z', 2, 'Europe/Berlin', '2026-10-25T00:00:00.000Z'],
    [
      'an hour inside a gap of half an hour',
      '2026-10-03T20:00:00Z',
      2,
      'Australia/Lord_Howe',
      '2026-10-03T15:30:00.000Z',
    ],
    ['midnight that the clock skips', '2026-09-06T12:00:00Z', 0, 'America/Santiago', '2026-09-06T04:00:00.000Z'],
    ['a day that a zone left out', '2011-12-30T12:00:00Z', 4, 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    ['the day after it', '2011-12-30T14:00:00Z', 4, 'Pacific/Apia', '2011-12-30T14:00:00.000Z'],
  ])('%s', (...row) => {
    const [, now, hour, zone, expected] = row;
    expect(boundary(now, hour, zone)).toBe(expected);
  });

  it('comes once on the night when an hour comes twice, and once when it is skipped', () => {
    const passed = (night: string, hour: number) => {
      const fromMs = at(`${night}T20:00:00Z`);
      const quarters = Array.from({ length: 48 }, (_, i) => fromMs + i * 900_000);
      const resets = quarters.filter((nowMs) => {
        const policy = { mode: 'daily', dailyHour: hour, idleMinutes: 1440 } as const;
        const times = { lastActivityAt: new Date(nowMs - 900_000), now: new Date(nowMs) };
        return decideReset({ policy, ...times, timeZone: 'Europe/Berlin' }) !== null;
      });
      return resets.length;
    };
    expect([passed('2026-10-24', 2), passed('2026-03-28', 2), passed('2026-06-01', 2)]).toEqual([1, 1, 1]);
  });
});

import type { IdleSession, Logger, SessionAging } from '@turnkeeper/core';
import { expect, it } from 'vitest';
import { sessionLifecycle } from './session-lifecycle.ts';

const HOUR_MS = 3_600_000;
const now = new Date('2026-05-20T00:00:00Z');
const idleFor = (status: IdleSession['status'], hours: number) =>
  ({ status, now, seen: `${hours}`, lastActivityAt: new Date(now.getTime() - hours * HOUR_MS) }) as IdleSession;

it('each session takes at most one step, and only when more than its hours have passed', async () => {
  const asked: [string, string][] = [];
  const aging: SessionAging = {
    idle: async () => [
      idleFor('active', 72),
      idleFor('active', 72.01),
      idleFor('active', 200),
      idleFor('expired', 168),
      idleFor('expired', 168.01),
      idleFor('archived', 900),
    ],
    age: async (changes) => {
      asked.push(...changes.map(({ seen, to }): [string, string] => [seen, to]));
      return [];
    },
  };
  const quiet = { info: () => undefined } as unknown as Logger;
  expect(await sessionLifecycle({ aging, logger: quiet }).run(new AbortController().signal)).toEqual({});
  expect(asked).toEqual([
    ['72.01', 'expired'],
    ['200', 'expired'],
    ['168.01', 'archived'],
  ]);
});

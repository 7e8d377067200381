import { expect, it } from 'vitest';
import { StoreError } from '../errors.ts';
import type { AccountId } from '../ids.ts';
import type { PausedAccount } from '../ports/delivery.ts';
import { turnOf } from '../session/turn.fixture.ts';
import { silentLogger, VirtualClock } from '../testing/index.ts';
import { AccountPauses } from './account-pauses.ts';

const accountId = 'a' as AccountId;
const delivery = { lane: turnOf(1).lane, accountId };

function scene({ isAway = false } = {}) {
  const clock = new VirtualClock();
  const rows = new Map<AccountId, number>();
  const left = (): PausedAccount[] =>
    [...rows].map(([id, untilMs]) => ({ accountId: id, leftMs: untilMs - clock.monotonicMs() }));
  const state = { readMs: 0 };
  const pauses = new AccountPauses({
    ...{ clock, log: silentLogger },
    store: {
      pauseAccount: async (_, id, ms) => {
        if (isAway) throw new StoreError({ failure: 'unknown', state: '57P01', message: 'gone' });
        rows.set(id, clock.monotonicMs() + ms);
      },
      pausedAccounts: async () => {
        const read = left();
        await clock.sleep(state.readMs);
        return read.filter(({ leftMs }) => leftMs > 0);
      },
    },
  });
  const end = new AbortController();
  void pauses.run(end.signal);
  return { clock, rows, state, pauses, end };
}

it('a pause that was lifted is over within a second, also where it was asked for', async () => {
  const { clock, rows, pauses, end } = scene();
  await pauses.pause(delivery, 3_600_000);
  await clock.advance(5_000);
  expect(pauses.has(accountId)).toBe(true);
  rows.clear();
  await clock.advance(1_000);
  expect(pauses.has(accountId)).toBe(false);
  end.abort();
});

it('a pause that no row has, or that was not yet there when the rows were read, stays', async () => {
  const away = scene({ isAway: true });
  await away.pauses.pause(delivery, 10_000);
  await away.clock.advance(9_000);
  expect(away.pauses.has(accountId)).toBe(true);
  away.end.abort();
  const late = scene();
  late.state.readMs = 400;
  await late.clock.advance(1_100);
  await late.pauses.pause(delivery, 10_000);
  await late.clock.advance(500);
  expect(late.pauses.has(accountId)).toBe(true);
  await late.clock.advance(5_000);
  expect(late.pauses.has(accountId)).toBe(true);
  late.end.abort();
});

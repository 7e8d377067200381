import { expect, test } from 'vitest';
import { VirtualClock } from '../testing/index.ts';
import { Leadership } from './leadership.ts';

function begin() {
  const clock = new VirtualClock();
  return { clock, leadership: new Leadership(clock, { leaseMs: 3000, marginMs: 500 }) };
}

test('a term lasts as long as the lease is renewed', async () => {
  const { clock, leadership } = begin();
  expect(leadership.term).toBeNull();
  leadership.answered(true, clock.monotonicMs());
  const term = leadership.term;
  for (let n = 0; n < 20; n++) {
    await clock.advance(250);
    leadership.answered(true, clock.monotonicMs());
    leadership.check();
  }
  expect(leadership.term).toBe(term);
  expect(term?.aborted).toBe(false);
});

test('a refusal ends the term at once, and a later lease begins a new one', () => {
  const { clock, leadership } = begin();
  leadership.answered(true, clock.monotonicMs());
  const term = leadership.term;
  leadership.answered(false, clock.monotonicMs());
  expect(term?.aborted).toBe(true);
  expect(leadership.term).toBeNull();
  leadership.answered(true, clock.monotonicMs());
  expect(leadership.term).not.toBeNull();
  expect(leadership.term).not.toBe(term);
});

test('without an answer the term ends before another could lead', async () => {
  const { clock, leadership } = begin();
  leadership.answered(true, clock.monotonicMs());
  const term = leadership.term;
  await clock.advance(2499);
  leadership.check();
  expect(term?.aborted).toBe(false);
  await clock.advance(1);
  leadership.check();
  expect(term?.aborted).toBe(true);
});

test('a leader that slept through its lease does not lead on, whatever the late answer says', async () => {
  const { clock, leadership } = begin();
  leadership.answered(true, clock.monotonicMs());
  const sentMs = clock.monotonicMs();
  await clock.advance(15_000);
  leadership.answered(true, sentMs);
  expect(leadership.term).toBeNull();
});

test('answers in the wrong order do not shorten a lease', async () => {
  const { clock, leadership } = begin();
  const early = clock.monotonicMs();
  await clock.advance(1000);
  leadership.answered(true, clock.monotonicMs());
  leadership.answered(true, early);
  await clock.advance(2400);
  leadership.check();
  expect(leadership.term).not.toBeNull();
});

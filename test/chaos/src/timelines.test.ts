import { expect, test } from 'vitest';
import { gapsOf } from './timelines.ts';

const at = (ms: number) => new Date(ms).toISOString();
const turn = { node: 'n', turnId: 'trn_1', attempt: 1 };
const WHOLE = [
  { at: at(1), step: 'accepted', node: 'n' },
  { at: at(2), step: 'claimed', ...turn },
  { at: at(3), step: 'turn_ended', ...turn, status: 'ok' },
  { at: at(3), step: 'settled', status: 'ok' },
  { at: at(4), step: 'delivery', node: 'n', turnId: 'trn_1', status: 'delivered' },
];
const RUN = { status: 'ok', attempts: 1, turnId: 'trn_1' } as const;
const gaps = (data: typeof WHOLE, run: Parameters<typeof gapsOf>[1] = RUN) =>
  gapsOf({ eventId: 'evt_1', runId: 'run_1', sessionKey: 'k', status: 'ok', data }, run);

test('a whole life has no gap', () => {
  expect(gaps(WHOLE)).toEqual([]);
});

test.each(WHOLE.map(({ step }, i) => [step, i] as const))('a life without %s has one', (_step, i) => {
  expect(gaps(WHOLE.toSpliced(i, 1))).not.toEqual([]);
});

test('a life that is not its run’s, runs backwards, or has a step without a node, has one', () => {
  expect(gaps(WHOLE, { ...RUN, attempts: 2 })).not.toEqual([]);
  expect(gaps(WHOLE, { ...RUN, status: 'error' })).not.toEqual([]);
  expect(gaps(WHOLE, { ...RUN, turnId: 'trn_2' })).not.toEqual([]);
  expect(gaps(WHOLE.map((entry, i) => ({ ...entry, at: at(9 - i) })))).toContain('its times run backwards');
  expect(gaps(WHOLE.map((entry) => ({ ...entry, node: undefined as never })))).toContain('a step has no node');
});
